#include "polystate/session/session.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/out_of_memory.h"
#include "polystate/core/result.h"
#include "polystate/core/tensor.h"
#include "session/claim.h"
#include "session/session_impl.h"

namespace polystate {
namespace {

// Calls `use` with the session while it is claimed. `what` says what for, in case memory runs out.
template <typename Impl, typename Use>
auto claimed(Impl* impl, const char* what, const Use& use) -> decltype(use(*impl)) {
  const Result<Claim> claim = Claim::take(impl == nullptr ? nullptr : &impl->busy());
  if (!claim) {
    return claim.error();
  }
  return or_out_of_memory(what, "", [&] { return use(*impl); });
}

}  // namespace

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<std::vector<Tensor>> Session::run(std::string_view method, std::span<const Tensor> inputs) {
  return claimed(impl_.get(), "run a method", [&](Impl& impl) { return impl.run(method, inputs); });
}

Result<std::vector<Tensor>> Session::run_borrowing(std::string_view method,
                                                   std::span<const Tensor> inputs) {
  return claimed(impl_.get(), "run a method",
                 [&](Impl& impl) { return impl.run_borrowing(method, inputs); });
}

Status Session::reset() {
  return claimed(impl_.get(), "reset a session", [](Impl& impl) {
    impl.reset();
    return Status();
  });
}

Result<Snapshot> Session::snapshot() {
  return claimed(impl_.get(), "take a snapshot", [](Impl& impl) { return impl.snapshot(); });
}

Status Session::restore(const Snapshot& snapshot) {
  return claimed(impl_.get(), "restore a snapshot",
                 [&](Impl& impl) { return impl.restore(snapshot); });
}

Status Session::save(const std::filesystem::path& path) {
  return claimed(impl_.get(), "save a session", [&](Impl& impl) { return impl.save(path); });
}

Status Session::load(const std::filesystem::path& path) {
  return claimed(impl_.get(), "load a session", [&](Impl& impl) { return impl.load(path); });
}

Result<Tensor> Session::read_state(std::string_view name) {
  return claimed(impl_.get(), "read a state", [&](Impl& impl) { return impl.read_state(name); });
}

Status Session::write_state(std::string_view name, const Tensor& value) {
  return claimed(impl_.get(), "write a state",
                 [&](Impl& impl) { return impl.write_state(name, value); });
}

Result<Tensor> Session::read_state_rows(std::string_view name, std::span<const std::int64_t> rows) {
  return claimed(impl_.get(), "read a state",
                 [&](Impl& impl) { return impl.read_state_rows(name, rows); });
}

Status Session::write_state_rows(std::string_view name, std::span<const std::int64_t> rows,
                                 const Tensor& values) {
  return claimed(impl_.get(), "write a state",
                 [&](Impl& impl) { return impl.write_state_rows(name, rows, values); });
}

Result<std::vector<std::byte>> Session::take_profile() {
  return claimed(impl_.get(), "take a profile", [](Impl& impl) { return impl.take_profile(); });
}

}  // namespace polystate
