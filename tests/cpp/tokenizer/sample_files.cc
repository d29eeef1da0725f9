#include "tokenizer/sample_files.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "polystate/tokenizer/tokenizer.h"
#include "tokenizer/loaders/loaders.h"

namespace polystate {
namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8U | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (unsigned k = 4; k > 0; --k) text += kDigits[bits >> 6 * (k - 1) & 63U];
  }
  for (std::size_t i = 0; i < (3 - bytes.size() % 3) % 3; ++i) text[text.size() - 1 - i] = '=';
  return text;
}

// A field of a protobuf message.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value > 127; value >>= 7U) bytes += static_cast<char>(value | 128U);
  return bytes + static_cast<char>(value);
}
std::string integer(std::uint64_t number, std::uint64_t value) {
  return varint(number << 3U) + varint(value);
}
std::string bytes(std::uint64_t number, std::string_view value) {
  return varint(number << 3U | 2U) + varint(value.size()) + std::string(value);
}
std::string real(std::uint64_t number, float value) {
  std::string field = varint(number << 3U | 5U);
  for (unsigned i = 0; i < 4; ++i)
    field += static_cast<char>(std::bit_cast<std::uint32_t>(value) >> 8 * i);
  return field;
}
std::string piece(std::string_view text, float score, std::uint64_t type) {
  return bytes(1, bytes(1, text) + real(2, score) + integer(3, type));
}

// A charsmap that replaces "A" by "a": a darts-clone array in which the root's child by 'A' has a
// value.
std::string charsmap() {
  constexpr std::uint32_t kLetter = 'A';
  std::vector<std::uint32_t> units(512, 0x80000000U);
  units[0] = 256U << 10U;                                  // the root's offset
  units[256U ^ kLetter] = kLetter | 1U << 8U | 1U << 10U;  // 'A', with a leaf
  units[256U ^ kLetter ^ 1U] = 0x80000000U;                // the value 0
  std::string blob;
  for (unsigned i = 0; i < 4; ++i) blob += static_cast<char>(units.size() * 4 >> 8 * i);
  for (const std::uint32_t unit : units) {
    for (unsigned i = 0; i < 4; ++i) blob += static_cast<char>(unit >> 8 * i);
  }
  return blob + "a" + std::string(1, '\0');
}

std::string sentence_piece(std::uint64_t algorithm) {
  std::string model = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3);
  for (int byte = 0; byte < 256; ++byte) {
    std::array<char, 8> name{};
    std::snprintf(name.data(), name.size(), "<0x%02X>", byte);
    model += piece(name.data(), 0, 6);
  }
  float score = -1;
  for (const std::string_view text :
       {"\xE2\x96\x81", "l", "o", "e", "H", "w", "ll", "He", "llo", "\xE2\x96\x81w", "1", "2"})
    model += piece(text, score--, 1);
  model += piece("</", 0, 4);
  model += bytes(2, integer(3, algorithm) + integer(35, 1));
  return model + bytes(3, bytes(2, charsmap()) + integer(3, 1) + integer(4, 1));
}

std::string tik_token() {
  std::string file;
  int rank = 0;
  const auto add = [&](std::string_view token) {
    file += base64(token) + " " + std::to_string(rank++) + "\n";
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (const std::string_view token : {"ll", "He", "llo", "Hello", " w"}) add(token);
  return file;
}

constexpr std::string_view kTokens = R"("version":"1.0","added_tokens":[
{"id":1,"content":"</s>","single_word":false,"lstrip":true,"rstrip":true,"normalized":false,"special":true},
{"id":9,"content":"12","single_word":true,"lstrip":false,"rstrip":false,"normalized":true,"special":false}])";

std::string json_of(std::string_view parts, std::string_view model) {
  return "{" + std::string(kTokens) + "," + std::string(parts) +
         ",\"model\":" + std::string(model) + "}";
}

std::string bpe_json() {
  return json_of(
      R"("truncation":{"max_length":20,"stride":1,"strategy":"LongestFirst","direction":"Right"},
"padding":{"strategy":{"Fixed":24},"direction":"Left","pad_to_multiple_of":8,"pad_id":1,"pad_type_id":0},
"normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Replace","pattern":{"Regex":"\\s{2}"},"content":" "}]},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":" ?\\p{L}+|[^\\s\\p{L}]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":false}]},
"post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"</s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
"pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
"special_tokens":{"</s>":{"id":"</s>","ids":[1],"tokens":["</s>"]}}}]},
"decoder":{"type":"ByteLevel"})",
      R"({"type":"BPE","dropout":0.1,"unk_token":"<unk>","fuse_unk":true,"byte_fallback":false,"ignore_merges":false,
"vocab":{"<unk>":0,"</s>":1,"H":2,"e":3,"l":4,"o":5,"ll":6,"llo":7,"He":8,"Hello":9,"w":10},
"merges":[["l","l"],["ll","o"],"H e",["He","llo"]]})");
}

std::string unigram_json() {
  return json_of(
      "\"normalizer\":{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"" + base64(charsmap()) +
          R"("},
"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true},
"post_processor":{"type":"RobertaProcessing","sep":["</s>",1],"cls":["</s>",1],"trim_offsets":true,"add_prefix_space":true},
"decoder":{"type":"Sequence","decoders":[{"type":"ByteFallback"},{"type":"Metaspace","replacement":"▁"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":1}]})",
      R"({"type":"Unigram","unk_id":0,"byte_fallback":true,"vocab":[["<unk>",0],["</s>",0],["▁",-2],["Hello",-3.5],["w",-4],["l",-5e0]]})");
}

std::string word_piece_json() {
  return json_of(
      R"("normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
"pre_tokenizer":{"type":"BertPreTokenizer"},
"post_processor":{"type":"BertProcessing","sep":["</s>",1],"cls":["</s>",1]},
"decoder":{"type":"WordPiece","prefix":"##","cleanup":true})",
      R"({"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
"vocab":{"[UNK]":0,"</s>":1,"he":2,"##llo":3,"w":4,"##o":5,"##r":6,"##ld":7,",":8}})");
}

std::string word_level_json() {
  return json_of(
      R"("normalizer":{"type":"Sequence","normalizers":[{"type":"NFKD"},{"type":"StripAccents"},{"type":"Nmt"},{"type":"Strip","strip_left":true,"strip_right":true}]},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Whitespace"},{"type":"Digits","individual_digits":true},{"type":"Punctuation","behavior":"Contiguous"}]},
"decoder":{"type":"CTC","pad_token":"x","word_delimiter_token":"|","cleanup":true})",
      R"({"type":"WordLevel","unk_token":"<unk>","vocab":{"<unk>":0,"</s>":1,"Hello":2,"world":3}})");
}

SampleFile sample_file(std::string_view name) {
  const std::vector<SampleFile> files = sample_files();
  return *std::find_if(files.begin(), files.end(),
                       [&](const SampleFile& file) { return file.name == name; });
}

}  // namespace

std::vector<SampleFile> sample_files() {
  TokenizerOptions tik_token_options;
  tik_token_options.tik_token = {R"('(?i:[sdmt]|ll)| ?\p{L}++| ?[^\s\p{L}]++|\s++$|\s+(?!\S)|\s)",
                                 {{"</s>", 300}}};
  using enum TokenizerFormat;
  return {{"Bpe", kTokenizerJson, bpe_json()},
          {"Unigram", kTokenizerJson, unigram_json()},
          {"WordPiece", kTokenizerJson, word_piece_json()},
          {"WordLevel", kTokenizerJson, word_level_json()},
          {"SentencePieceUnigram", kSentencePiece, sentence_piece(1)},
          {"SentencePieceBpe", kSentencePiece, sentence_piece(2)},
          {"SentencePieceWord", kSentencePiece, sentence_piece(3)},
          {"TikToken", kTikToken, tik_token(), tik_token_options}};
}

tokenizer::MarianFiles sample_marian_files(std::string_view model) {
  const std::string content = sample_file(model).content;
  return {content, content,
          R"({"</s>":0,"<unk>":1,"\u2581":2,"He":3,"llo":4,"\u2581w":5,"<pad>":6,">>fr<<":7})",
          R"({"eos_token":"</s>","unk_token":{"content":"<unk>"},"additional_special_tokens":[]})"};
}

tokenizer::M2M100Files sample_m2m100_files() {
  return {sample_file("SentencePieceBpe").content,
          R"({"<s>":0,"<pad>":1,"</s>":2,"<unk>":3,"\u2581":4,"He":5,"llo":6,"\u2581w":7})",
          R"({"language_codes":"wmt21","src_lang":"de","tgt_lang":"en"})",
          R"({"additional_special_tokens":["__en__","__ha__"],"pad_token":{"content":"<pad>"}})"};
}

std::shared_ptr<const Tokenizer> open_sample(std::string_view name) {
  const SampleFile file = sample_file(name);
  return Tokenizer::parse(file.format, file.content, file.options).value();
}

}  // namespace polystate
