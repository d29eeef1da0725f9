#pragma once

#include <cstddef>
#include <string>

#include "pipeline/chat_prompt.h"
#include "polystate/pipeline/chat.h"

namespace polystate {

struct Chat::Prompt {
  ChatPrompt chat;
  std::size_t left_out;  // messages
  bool shows_tools;
  std::string begun_answer;  // what it has of the answer to it
};

}  // namespace polystate
