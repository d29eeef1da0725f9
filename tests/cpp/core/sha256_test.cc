#include "polystate/core/sha256.h"

#include <gtest/gtest.h>

#include <string>

#include "core/bytes_of.h"

namespace polystate {
namespace {

// The examples of FIPS 180-4.
TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(to_hex(sha256_of(bytes_of("")).value()),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256_of(bytes_of("abc")).value()),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, PartsHashAsTheWhole) {
  Sha256Hasher hasher;
  hasher.update(bytes_of("a"));
  hasher.update(bytes_of(""));
  hasher.update(bytes_of("bc"));
  EXPECT_EQ(hasher.finish().value(), sha256_of(bytes_of("abc")).value());
}

TEST(Sha256, AFinishedHasherGivesAnError) {
  Sha256Hasher hasher;
  ASSERT_TRUE(hasher.finish());
  hasher.update(bytes_of("abc"));
  EXPECT_FALSE(hasher.finish());
}

TEST(Sha256, HexGoesThereAndBack) {
  const Sha256 digest = sha256_of(bytes_of("abc")).value();
  EXPECT_EQ(sha256_from_hex(to_hex(digest)), digest);
}

TEST(Sha256, OnlyLowerCaseHexOfTheRightLengthIsRead) {
  const std::string good(64, 'a');
  EXPECT_TRUE(sha256_from_hex(good));
  EXPECT_FALSE(sha256_from_hex(good + "a"));
  EXPECT_FALSE(sha256_from_hex(good.substr(1)));
  EXPECT_FALSE(sha256_from_hex("A" + good.substr(1)));
  EXPECT_FALSE(sha256_from_hex(good.substr(1) + "g"));
}

}  // namespace
}  // namespace polystate
