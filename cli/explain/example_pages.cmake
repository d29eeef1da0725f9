# Makes example_pages.cc of the pages of docs/examples, which the command has in itself.
file(
  GLOB example_pages
  CONFIGURE_DEPENDS
  "${PROJECT_SOURCE_DIR}/docs/examples/*.md"
)
list(SORT example_pages)
set(text "#include \"cli/explain/pages.h\"\n\n#include <array>\n#include <span>\n\n")
string(APPEND text "namespace polystate::cli {\nnamespace {\n\n")
set(entries "")
set(count 0)
foreach(page IN LISTS example_pages)
  get_filename_component(name "${page}" NAME_WE)
  if(name STREQUAL "README")
    continue()
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}")
  file(READ "${page}" content)
  string(APPEND entries "    ExamplePage{\"${name}\", R\"page(${content})page\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
string(APPEND text "constexpr std::array<ExamplePage, ${count}> kPages = {\n${entries}};\n\n")
string(APPEND text "}  // namespace\n\n")
string(APPEND text "std::span<const ExamplePage> example_pages() { return kPages; }\n\n")
string(APPEND text "}  // namespace polystate::cli\n")
set(example_pages_source "${CMAKE_CURRENT_BINARY_DIR}/example_pages.cc")
file(WRITE "${example_pages_source}.new" "${text}")
file(COPY_FILE "${example_pages_source}.new" "${example_pages_source}" ONLY_IF_DIFFERENT)
