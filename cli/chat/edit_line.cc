#include "cli/chat/edit_line.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/chat/interrupts.h"
#include "cli/chat/turn_reader.h"
#include "cli/output.h"
#include "cli/text.h"
#include "polystate/core/result.h"

namespace polystate::cli {
namespace {

// Of libedit's interface, which is loaded where it is there: opaque types, and the numbers of its
// operations.
struct EditLine;
struct History;
struct HistoryEvent {
  int number;
  const char* text;
};
constexpr int kElPrompt = 0;
constexpr int kElEditor = 2;
constexpr int kElBind = 4;
constexpr int kElAddFunction = 9;
constexpr int kElHistory = 10;
constexpr int kElGetCharacter = 13;
constexpr int kElClientData = 14;
constexpr int kHistorySetSize = 1;
constexpr int kHistoryEnter = 10;
constexpr int kHistoryLoad = 17;
constexpr int kHistorySave = 18;
constexpr int kHistorySetUnique = 20;
constexpr unsigned char kRefresh = 4;  // what a function of ours has it do

struct Library {
  EditLine* (*init)(const char* program, std::FILE* in, std::FILE* out, std::FILE* error);
  void (*end)(EditLine* editor);
  int (*set)(EditLine* editor, int operation, ...);
  int (*get)(EditLine* editor, int operation, ...);
  const char* (*gets)(EditLine* editor, int* count);
  int (*insert)(EditLine* editor, const char* text);
  void (*resize)(EditLine* editor);
  History* (*history_init)();
  void (*history_end)(History* history);
  int (*history)(History* history, HistoryEvent* event, int operation, ...);
};

template <typename Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  return function != nullptr;
}

// The library, which stays loaded; nothing where it is not there.
std::optional<Library> load_library() {
  for (const char* const name : {"libedit.so.2", "libedit.so.0", "libedit.so", "libedit.dylib"}) {
    void* const opened = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (opened == nullptr) continue;
    Library library{};
    if (find(opened, "el_init", library.init) && find(opened, "el_end", library.end) &&
        find(opened, "el_set", library.set) && find(opened, "el_get", library.get) &&
        find(opened, "el_gets", library.gets) && find(opened, "el_insertstr", library.insert) &&
        find(opened, "el_resize", library.resize) &&
        find(opened, "history_init", library.history_init) &&
        find(opened, "history_end", library.history_end) &&
        find(opened, "history", library.history)) {
      return library;
    }
    ::dlclose(opened);
  }
  return std::nullopt;
}

// Where turns are kept; empty: nowhere.
std::filesystem::path history_path() {
  if (const char* const named = std::getenv("POLYSTATE_HISTORY")) return named;
  const char* const state = std::getenv("XDG_STATE_HOME");
  const char* const home = std::getenv("HOME");
  if (state != nullptr && *state == '/')
    return std::filesystem::path(state) / "polystate/chat_history";
  if (home == nullptr || *home == '\0') return {};
  return std::filesystem::path(home) / ".local/state/polystate/chat_history";
}

class EditedTurns final : public TurnReader {
 public:
  EditedTurns(const Library& library, Interrupts& interrupts, Output& output)
      : library_(library),
        interrupts_(&interrupts),
        output_(&output),
        editor_(library.init("polystate", stdin, stdout, stderr)),
        history_(library.history_init()),
        path_(history_path()) {
    if (!is_open()) return;
    HistoryEvent event{};
    constexpr int kTurns = 1000;
    (void)library_.history(history_, &event, kHistorySetSize, kTurns);
    (void)library_.history(history_, &event, kHistorySetUnique, 1);
    if (!path_.empty()) (void)library_.history(history_, &event, kHistoryLoad, path_.c_str());
    (void)library_.set(editor_, kElClientData, this);
    (void)library_.set(editor_, kElPrompt, &prompt_of);
    (void)library_.set(editor_, kElEditor, "emacs");
    (void)library_.set(editor_, kElHistory, library_.history, history_);
    (void)library_.set(editor_, kElGetCharacter, &read_character);
    (void)library_.set(editor_, kElAddFunction, "take-paste", "Insert what is pasted", &take_paste);
    (void)library_.set(editor_, kElAddFunction, "new-line", "Insert a line feed",
                       &insert_line_feed);
    bind(kPasteBegin, "take-paste");
    for (const char* const keys : {"\x1b\r", "\x1b\n"}) bind(keys, "new-line");
    for (const char* const keys : {"\x1b[H", "\x1b[1~", "\x1bOH"}) bind(keys, "ed-move-to-beg");
    for (const char* const keys : {"\x1b[F", "\x1b[4~", "\x1bOF"}) bind(keys, "ed-move-to-end");
    bind("\x1b[3~", "ed-delete-next-char");
    bind("\x12", "em-inc-search-prev");  // Ctrl-R
    output_->write(kTellPastes);
  }
  ~EditedTurns() override {
    if (is_open()) output_->write(kTellNoPastes);
    if (editor_ != nullptr) library_.end(editor_);
    if (history_ != nullptr) library_.history_end(history_);
  }
  EditedTurns(const EditedTurns&) = delete;
  EditedTurns& operator=(const EditedTurns&) = delete;

  [[nodiscard]] bool is_open() const { return editor_ != nullptr && history_ != nullptr; }

  Result<std::optional<std::string>> read() override {
    std::string turn;
    prompt_ = kPrompt;
    while (true) {
      library_.resize(editor_);
      int count = 0;
      const char* const line = library_.gets(editor_, &count);
      if (line == nullptr || count <= 0) {
        output_->write("\n");
        if (!interrupts_->is_stopped()) return std::optional<std::string>();
        interrupts_->forget_stop();
        return std::optional(std::string());
      }
      turn.append(line, static_cast<std::size_t>(count));
      if (turn.ends_with('\n')) turn.pop_back();
      if (!turn.ends_with('\\')) break;
      turn.back() = '\n';
      prompt_ = kMorePrompt;
    }
    remember(turn);
    return std::optional(std::move(turn));
  }

 private:
  void bind(const char* keys, const char* function) {
    (void)library_.set(editor_, kElBind, keys, function, nullptr);
  }

  void remember(const std::string& turn) {
    if (is_blank(turn)) return;
    HistoryEvent event{};
    (void)library_.history(history_, &event, kHistoryEnter, turn.c_str());
    if (path_.empty()) return;
    std::error_code ignored;  // a conversation goes on without
    std::filesystem::create_directories(path_.parent_path(), ignored);
    const mode_t before = ::umask(S_IRWXG | S_IRWXO);
    (void)library_.history(history_, &event, kHistorySave, path_.c_str());
    ::umask(before);
  }

  static EditedTurns* of(EditLine* editor) {
    EditedTurns* self = nullptr;
    static const std::optional<Library> library = load_library();
    if (library) (void)library->get(editor, kElClientData, &self);
    return self;
  }

  static char* prompt_of(EditLine* editor) { return of(editor)->prompt_.data(); }

  // The next byte; nothing at the end, and where Ctrl-C was pressed.
  std::optional<char> next_byte() {
    while (true) {
      if (!interrupts_->wait_for(STDIN_FILENO)) {
        if (interrupts_->is_stopped()) return std::nullopt;
        if (interrupts_->take_resize()) library_.resize(editor_);
        continue;
      }
      char byte = 0;
      const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
      if (count == 1) return byte;
      if (count == 0 || errno != EINTR) return std::nullopt;
    }
  }

  // libedit's way of reading: 1 for a character, 0 at the end.
  static int read_character(EditLine* editor, wchar_t* character) {
    std::mbstate_t state{};
    while (const std::optional<char> byte = of(editor)->next_byte()) {
      const std::size_t size = std::mbrtowc(character, &*byte, 1, &state);
      if (size == static_cast<std::size_t>(-2)) continue;  // not all of it yet
      if (size != static_cast<std::size_t>(-1)) return 1;
      state = std::mbstate_t{};  // no character
    }
    return 0;
  }

  static unsigned char take_paste(EditLine* editor, int /*key*/) {
    EditedTurns& self = *of(editor);
    std::string text;
    while (!text.ends_with(kPasteEnd)) {
      const std::optional<char> byte = self.next_byte();
      if (!byte) return kRefresh;
      text += *byte == '\r' ? '\n' : *byte;
    }
    text.resize(text.size() - std::string_view(kPasteEnd).size());
    while (text.ends_with('\n')) text.pop_back();
    (void)self.library_.insert(editor, text.c_str());
    return kRefresh;
  }

  static unsigned char insert_line_feed(EditLine* editor, int /*key*/) {
    (void)of(editor)->library_.insert(editor, "\n");
    return kRefresh;
  }

  Library library_;
  Interrupts* interrupts_;
  Output* output_;
  EditLine* editor_;
  History* history_;
  std::filesystem::path path_;
  std::string prompt_;
};

}  // namespace

std::unique_ptr<TurnReader> open_edit_line(Interrupts& interrupts, Output& output) {
  const char* const terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return nullptr;
  const std::optional<Library> library = load_library();
  if (!library) return nullptr;
  auto turns = std::make_unique<EditedTurns>(*library, interrupts, output);
  if (!turns->is_open()) return nullptr;
  return turns;
}

}  // namespace polystate::cli
