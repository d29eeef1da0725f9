#pragma once

namespace polystate::cli {

// Ctrl-C (SIGINT) and changes of the terminal's size (SIGWINCH) as news, while it exists. There is
// one at a time.
class Interrupts {
 public:
  // `takes_signals`: whether it does; otherwise both signals do what they did before, and there is
  // never any news.
  explicit Interrupts(bool takes_signals);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Whether Ctrl-C was pressed since it was forgotten last.
  [[nodiscard]] bool is_stopped() const;
  void forget_stop();
  // Whether the size changed since this was asked last.
  bool take_resize();

  // Waits until `descriptor` can be read, or for news. Whether it can be read.
  [[nodiscard]] bool wait_for(int descriptor) const;

 private:
  bool takes_signals_;
};

}  // namespace polystate::cli
