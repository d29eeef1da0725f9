#pragma once

#include "core/json.h"
#include "core/json_text.h"
#include "grammar/text_pattern.h"
#include "polystate/core/result.h"

namespace polystate::grammar {

// Says what an object may have as xgrammar understands it: anything where nothing is said of it,
// what it must have, and names that expressions give. `found` has the checked words of `schema`,
// and `form` is that of the names.
//
// kUnsupported: a name would have to fulfil several schemas, of which xgrammar takes one, or there
// are more names than it reads in time. kContract: it requires what it forbids.
Status complete_object(const Json::Object& schema, nlohmann::ordered_json& found, TextForm form,
                       TextMatcher& matcher);

// Says what an array may have: anything where nothing is said of it.
Status complete_array(const Json::Object& schema, nlohmann::ordered_json& found);

}  // namespace polystate::grammar
