#include "cli/explain/explain.h"

#include <CLI/App.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/explain/pages.h"
#include "cli/output.h"
#include "polystate/core/result.h"

namespace polystate::cli {

void declare_explain(CLI::App& polystate, Action& action) {
  CLI::App* const command = polystate.add_subcommand(
      "explain", "Show an example that an error of an export names, or list all");
  const auto name = std::make_shared<std::string>();
  command->add_option("NAME", *name, "The name behind `example:` in the error");
  command->callback([name, &action] {
    action = [name](Output& output) -> Result<ExitStatus> {
      if (name->empty()) {
        output.write(example_list());
        return ExitStatus::kSuccess;
      }
      const Result<std::string_view> page = example_page(*name);
      if (!page) return page.error();
      output.write(*page);
      return ExitStatus::kSuccess;
    };
  });
}

}  // namespace polystate::cli
