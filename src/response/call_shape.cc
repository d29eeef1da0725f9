#include "response/call_shape.h"

#include <utility>

#include "chat_template/value.h"
#include "polystate/core/result.h"
#include "response/json_value.h"

namespace polystate::response {
namespace {

using chat_template::Dict;
using chat_template::Elements;
using chat_template::Value;

Error refused(const char* why) { return {ErrorCode::kContract, why}; }

Result<Value> checked_call(const Value& call) {
  const bool is_dict = call.kind() == Value::Kind::kDict;
  const Value* const function = is_dict ? call.dict().find("function") : nullptr;
  if (function == nullptr || function->kind() != Value::Kind::kDict)
    return refused("a call has no 'function'");
  const Value* const name = function->dict().find("name");
  if (name == nullptr || !name->is_string() || name->text().empty())
    return refused("a call has no name");
  const Value* const given = function->dict().find("arguments");
  if (given == nullptr) return refused("a call has no arguments");
  Value arguments = *given;
  if (given->is_string()) {
    Result<Value> parsed = parse_value(given->bytes(), given->text().origin_at(0));
    if (!parsed) return parsed;
    arguments = *std::move(parsed);
  }
  if (arguments.kind() != Value::Kind::kDict)
    return refused("the arguments of a call are no object");
  Dict whole = function->dict();
  whole.set(Value::string("arguments"), std::move(arguments));
  Dict checked = call.dict();
  checked.set(Value::string("function"), Value::dict(std::move(whole)));
  return Value::dict(std::move(checked));
}

}  // namespace

Result<Value> checked_calls(const Value& calls) {
  if (calls.kind() != Value::Kind::kList) return checked_call(calls);
  Elements elements;
  for (const Value& call : calls.elements()) {
    Result<Value> checked = checked_call(call);
    if (!checked) return checked;
    elements.push_back(*std::move(checked));
  }
  return Value::list(std::move(elements));
}

}  // namespace polystate::response
