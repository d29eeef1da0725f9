// Gives every file of a folder to a fuzzer once, where there is no libFuzzer:  fuzz_FORMAT FOLDER

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "fuzzer.h"

int main(int count, char* arguments[]) {
  if (count != 2) {
    std::cerr << "usage: " << arguments[0] << " FOLDER\n";
    return 2;
  }
  std::size_t taken = 0;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), {});
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    ++taken;
  }
  std::cout << taken << " files\n";
  return taken > 0 ? 0 : 1;
}
