#include "cli/diff/differences.h"

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/diff/artifact_facts.h"
#include "cli/table.h"
#include "polystate/artifact/artifact.h"
#include "polystate/artifact/manifest.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

using Facts = std::map<std::string, std::string>;
using Json = nlohmann::ordered_json;

std::vector<std::string> common_methods(const Manifest& a, const Manifest& b) {
  std::vector<std::string> names;
  for (const MethodSpec& method : a.methods) {
    if (b.method_index(method.name).has_value()) names.push_back(method.name);
  }
  return names;
}

std::optional<std::string> found(const Facts& facts, const std::string& name) {
  const auto fact = facts.find(name);
  return fact == facts.end() ? std::nullopt : std::optional(fact->second);
}

void add_differences(const FactSection& before, const FactSection& after,
                     std::vector<Change>& differences) {
  Facts all = before.facts;
  all.insert(after.facts.begin(), after.facts.end());
  for (const auto& [name, text] : all) {
    Change change{before.title, name, found(before.facts, name), found(after.facts, name)};
    if (change.before != change.after) differences.push_back(std::move(change));
  }
}

std::string sign_of(const Change& change) {
  if (!change.before.has_value()) return "+";
  return change.after.has_value() ? "~" : "-";
}

Json text_or_null(const std::optional<std::string>& text) {
  return text.has_value() ? Json(*text) : Json();
}

}  // namespace

Result<std::vector<Change>> differences_of(const Artifact& before, const Artifact& after) {
  std::vector<Change> differences;
  if (before.digest() == after.digest()) return differences;
  const std::vector<std::string> methods = common_methods(before.manifest(), after.manifest());
  const Result<std::vector<FactSection>> old_facts = facts_of(before, methods);
  if (!old_facts) return old_facts.error();
  const Result<std::vector<FactSection>> new_facts = facts_of(after, methods);
  if (!new_facts) return new_facts.error();
  for (std::size_t i = 0; i < old_facts->size(); ++i)
    add_differences((*old_facts)[i], (*new_facts)[i], differences);
  return differences;
}

std::string differences_text(const std::vector<Change>& differences, bool has_colour) {
  std::string text;
  for (std::size_t i = 0; i < differences.size();) {
    const std::string& section = differences[i].section;
    Table table(2);
    for (; i < differences.size() && differences[i].section == section; ++i) {
      const Change& change = differences[i];
      table.add_row(
          {sign_of(change), change.name, change.before.value_or(change.after.value_or(""))});
      const bool has_both = change.before.has_value() && change.after.has_value();
      if (has_both) table.add_row({"", "", "-> " + *change.after});
    }
    text += (text.empty() ? "" : "\n") + (has_colour ? "\x1b[1m" + section + "\x1b[0m" : section) +
            "\n" + table.text();
  }
  return text;
}

std::string differences_json(const std::vector<Change>& differences) {
  Json list = Json::array();
  for (const Change& change : differences) {
    list.push_back({{"section", change.section},
                    {"name", change.name},
                    {"before", text_or_null(change.before)},
                    {"after", text_or_null(change.after)}});
  }
  const Json report = {{"equal", differences.empty()}, {"differences", std::move(list)}};
  return report.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace polystate::cli
