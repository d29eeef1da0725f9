#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace polystate {

// What went wrong, as far as a caller can act on it. Bindings map each code to an exception type,
// the command line to an exit status.
enum class ErrorCode : std::uint8_t {
  // An input, a name or an option that the model does not take. The call was refused: no output, no
  // state and no input was written. A check inside the program may refuse it half-way: where it
  // cannot stop in time, the message says that the state may be half updated.
  kContract,
  kArtifact,     // the artifact is damaged, inconsistent or not trusted
  kUnsupported,  // well-formed, but this build or machine cannot do it
  kEngine,       // the engine failed while it ran
  kBusy,         // another thread is using the session
  kIo,           // reading or writing a file failed
};

// A failure: its code and a message that names the thing, the value found and the limit.
struct Error {
  ErrorCode code;
  std::string message;
};

namespace internal {

// Both write a message to stderr and end the program. The first message contains the error's.
[[noreturn, gnu::cold]] void end_for_missing_value(const Error& error);
[[noreturn, gnu::cold]] void end_for_missing_error();

}  // namespace internal

// A value or an Error; a subset of std::expected (C++23). Reading the side that is not there is a
// bug of the caller, and ends the program with the error's message, as absl::StatusOr does.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(*-explicit-*)
  Result(Error error)
      : content_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return *checked_value(); }
  const T& value() const& { return *checked_value(); }
  T&& value() && { return std::move(*checked_value()); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return checked_value(); }
  const T* operator->() const { return checked_value(); }

  [[nodiscard]] const Error& error() const {
    if (has_value()) internal::end_for_missing_error();
    return *std::get_if<1>(&content_);
  }

 private:
  T* checked_value() {
    if (!has_value()) internal::end_for_missing_value(error());
    return std::get_if<0>(&content_);
  }
  const T* checked_value() const {
    if (!has_value()) internal::end_for_missing_value(error());
    return std::get_if<0>(&content_);
  }

  std::variant<T, Error> content_;
};

// Success, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(*-explicit-*)

  [[nodiscard]] bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] const Error& error() const {
    if (!error_) internal::end_for_missing_error();
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace polystate
