#include "engine/executorch/log_capture.h"

#include <executorch/runtime/platform/log.h>
#include <gtest/gtest.h>

#include <thread>

namespace polystate {
namespace {

TEST(LogCapture, KeepsTheFirstTwoErrorsAndPrintsNothing) {
  install_log_capture();
  ::testing::internal::CaptureStderr();
  {
    const LogCapture log;
    ET_LOG(Info, "all is well");
    ET_LOG(Error, "a %d", 1);
    ET_LOG(Error, "b");
    ET_LOG(Error, "c");
    EXPECT_EQ(log.errors(), "a 1; b");
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(LogCapture, LeavesTheLogOfOthersAlone) {
  install_log_capture();
  const LogCapture log;
  ::testing::internal::CaptureStderr();
  std::thread([] { ET_LOG(Error, "of another thread"); }).join();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("of another thread"), std::string::npos);
  EXPECT_EQ(log.errors(), "");
}

TEST(LogCapture, OfTheInnermostScopeWins) {
  install_log_capture();
  const LogCapture outer;
  {
    const LogCapture inner;
    ET_LOG(Error, "inner");
    EXPECT_EQ(inner.errors(), "inner");
  }
  ET_LOG(Error, "outer");
  EXPECT_EQ(outer.errors(), "outer");
}

}  // namespace
}  // namespace polystate
