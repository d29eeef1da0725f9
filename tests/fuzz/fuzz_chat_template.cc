#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/utf8.h"
#include "fuzzer.h"
#include "polystate/chat_template/chat_template.h"
#include "polystate/chat_template/template_value.h"
#include "polystate/core/result.h"
#include "take_part.h"

namespace {

// Whether the ranges are in the text, ascending and apart.
bool is_sound(const polystate::RenderedText& rendered) {
  std::size_t at = 0;
  for (const polystate::ByteRange& range : rendered.users) {
    if (range.begin < at || range.end <= range.begin) return false;
    at = range.end + 1;
  }
  return at <= rendered.text.size() + 1 && polystate::is_utf8(rendered.text);
}

}  // namespace

// A template, and its variables in JSON.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string source = polystate::take_part(rest);
  const auto parsed = polystate::ChatTemplate::parse(source);
  if (!parsed) {
    if (parsed.error().code != polystate::ErrorCode::kContract) std::abort();
    return 0;
  }
  const auto given = polystate::TemplateValue::parse_json(polystate::take_part(rest));
  const polystate::TemplateValue empty = polystate::TemplateValue::dict({}).value();
  polystate::RenderOptions options;
  options.max_steps = 1'000'000;
  options.max_text_bytes = std::size_t{1} << 20U;
  const auto rendered = parsed->render(given ? *given : empty, options);
  if (rendered ? !is_sound(*rendered) : rendered.error().code != polystate::ErrorCode::kContract)
    std::abort();
  return 0;
}
