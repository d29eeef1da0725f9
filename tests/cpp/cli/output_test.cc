#include "cli/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>

#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

TEST(Output, AReaderThatWentAwayIsNoError) {
  ::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[0]);
  Output output(ends[1]);
  output.write("dropped");
  EXPECT_TRUE(output.status());
  ::close(ends[1]);
}

TEST(Output, AFullDiskIsAnErrorWhateverIsWrittenAfterwards) {
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  Output output(full);
  output.write("lost");
  output.write("lost too");
  ASSERT_FALSE(output.status());
  EXPECT_EQ(output.status().error().code, ErrorCode::kIo);
  EXPECT_EQ(output.status().error().message,
            "cannot write to standard output: No space left on device");
  ::close(full);
}

TEST(Output, APipeHasNoColour) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_FALSE(Output(ends[1]).has_colour());
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace polystate::cli
