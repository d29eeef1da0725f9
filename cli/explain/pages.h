#pragma once

#include <span>
#include <string>
#include <string_view>

#include "polystate/core/result.h"

namespace polystate::cli {

// A page of docs/examples.
struct ExamplePage {
  std::string_view name;
  std::string_view text;  // Markdown, as the file has it
};

// All pages, by their names; compiled into the program (the build makes example_pages.cc).
std::span<const ExamplePage> example_pages();

// The text of the page that has this name; kContract where no page has it, with similar names.
Result<std::string_view> example_page(std::string_view name);

// A line for each page: its name and what it is about.
std::string example_list();

}  // namespace polystate::cli
