// Written by tools/make_unicode_tables.py from the package `tokenizers`.
// clang-format off
#include "tokenizer/regex/newer_characters.h"

#include <array>
#include <span>

namespace polystate::tokenizer {
namespace {

constexpr std::array<NewerCharacters, 51> kNewer = {{
{"l", false,
R"(\x{1C89}-\x{1C8A}\x{A7CB}-\x{A7CD}\x{A7DA}-\x{A7DC}\x{105C0}-\x{105F3}\x{10D4A}-\x{10D65})"
R"(\x{10D6F}-\x{10D85}\x{10EC2}-\x{10EC4}\x{1123F}-\x{11240}\x{11380}-\x{11389}\x{1138B}\x{1138E})"
R"(\x{11390}-\x{113B5}\x{113B7}\x{113D1}\x{113D3}\x{11BC0}-\x{11BE0}\x{11F02}\x{11F04}-\x{11F10})"
R"(\x{11F12}-\x{11F33}\x{1342F}\x{13441}-\x{13446}\x{13460}-\x{143FA}\x{16100}-\x{1611D})"
R"(\x{16D40}-\x{16D6C}\x{18CFF}\x{1B132}\x{1B155}\x{1DF25}-\x{1DF2A}\x{1E030}-\x{1E06D})"
R"(\x{1E4D0}-\x{1E4EB}\x{1E5D0}-\x{1E5ED}\x{1E5F0}\x{2B739}\x{2EBF0}-\x{2EE5D}\x{31350}-\x{323AF})"
},
{"lu", false,
R"(\x{1C89}\x{A7CB}-\x{A7CC}\x{A7DA}\x{A7DC}\x{10D50}-\x{10D65})"
},
{"ll", false,
R"(\x{1C8A}\x{A7CD}\x{A7DB}\x{10D70}-\x{10D85}\x{1DF25}-\x{1DF2A})"
},
{"lm", false,
R"(\x{10D4E}\x{10D6F}\x{16D40}-\x{16D42}\x{16D6B}-\x{16D6C}\x{1E030}-\x{1E06D}\x{1E4EB})"
},
{"lo", false,
R"(\x{105C0}-\x{105F3}\x{10D4A}-\x{10D4D}\x{10D4F}\x{10EC2}-\x{10EC4}\x{1123F}-\x{11240})"
R"(\x{11380}-\x{11389}\x{1138B}\x{1138E}\x{11390}-\x{113B5}\x{113B7}\x{113D1}\x{113D3})"
R"(\x{11BC0}-\x{11BE0}\x{11F02}\x{11F04}-\x{11F10}\x{11F12}-\x{11F33}\x{1342F}\x{13441}-\x{13446})"
R"(\x{13460}-\x{143FA}\x{16100}-\x{1611D}\x{16D43}-\x{16D6A}\x{18CFF}\x{1B132}\x{1B155})"
R"(\x{1E4D0}-\x{1E4EA}\x{1E5D0}-\x{1E5ED}\x{1E5F0}\x{2B739}\x{2EBF0}-\x{2EE5D}\x{31350}-\x{323AF})"
},
{"m", false,
R"(\x{897}\x{CF3}\x{ECE}\x{10D69}-\x{10D6D}\x{10EFC}-\x{10EFF}\x{11241}\x{113B8}-\x{113C0})"
R"(\x{113C2}\x{113C5}\x{113C7}-\x{113CA}\x{113CC}-\x{113D0}\x{113D2}\x{113E1}-\x{113E2})"
R"(\x{11F00}-\x{11F01}\x{11F03}\x{11F34}-\x{11F3A}\x{11F3E}-\x{11F42}\x{11F5A}\x{13440})"
R"(\x{13447}-\x{13455}\x{1611E}-\x{1612F}\x{1E08F}\x{1E4EC}-\x{1E4EF}\x{1E5EE}-\x{1E5EF})"
},
{"mn", false,
R"(\x{897}\x{ECE}\x{10D69}-\x{10D6D}\x{10EFC}-\x{10EFF}\x{11241}\x{113BB}-\x{113C0}\x{113CE})"
R"(\x{113D0}\x{113D2}\x{113E1}-\x{113E2}\x{11F00}-\x{11F01}\x{11F36}-\x{11F3A}\x{11F40}\x{11F42})"
R"(\x{11F5A}\x{13440}\x{13447}-\x{13455}\x{1611E}-\x{16129}\x{1612D}-\x{1612F}\x{1E08F})"
R"(\x{1E4EC}-\x{1E4EF}\x{1E5EE}-\x{1E5EF})"
},
{"mc", false,
R"(\x{CF3}\x{113B8}-\x{113BA}\x{113C2}\x{113C5}\x{113C7}-\x{113CA}\x{113CC}-\x{113CD}\x{113CF})"
R"(\x{11F03}\x{11F34}-\x{11F35}\x{11F3E}-\x{11F3F}\x{11F41}\x{1612A}-\x{1612C})"
},
{"n", false,
R"(\x{10D40}-\x{10D49}\x{116D0}-\x{116E3}\x{11BF0}-\x{11BF9}\x{11F50}-\x{11F59})"
R"(\x{16130}-\x{16139}\x{16D70}-\x{16D79}\x{1CCF0}-\x{1CCF9}\x{1D2C0}-\x{1D2D3})"
R"(\x{1E4F0}-\x{1E4F9}\x{1E5F1}-\x{1E5FA})"
},
{"nd", false,
R"(\x{10D40}-\x{10D49}\x{116D0}-\x{116E3}\x{11BF0}-\x{11BF9}\x{11F50}-\x{11F59})"
R"(\x{16130}-\x{16139}\x{16D70}-\x{16D79}\x{1CCF0}-\x{1CCF9}\x{1E4F0}-\x{1E4F9})"
R"(\x{1E5F1}-\x{1E5FA})"
},
{"no", false,
R"(\x{1D2C0}-\x{1D2D3})"
},
{"p", false,
R"(\x{1B4E}-\x{1B4F}\x{1B7F}\x{10D6E}\x{113D4}-\x{113D5}\x{113D7}-\x{113D8}\x{11B00}-\x{11B09})"
R"(\x{11BE1}\x{11F43}-\x{11F4F}\x{16D6D}-\x{16D6F}\x{1E5FF})"
},
{"pd", false,
R"(\x{10D6E})"
},
{"po", false,
R"(\x{1B4E}-\x{1B4F}\x{1B7F}\x{113D4}-\x{113D5}\x{113D7}-\x{113D8}\x{11B00}-\x{11B09}\x{11BE1})"
R"(\x{11F43}-\x{11F4F}\x{16D6D}-\x{16D6F}\x{1E5FF})"
},
{"s", false,
R"(\x{2427}-\x{2429}\x{2FFC}-\x{2FFF}\x{31E4}-\x{31E5}\x{31EF}\x{10D8E}-\x{10D8F})"
R"(\x{1CC00}-\x{1CCEF}\x{1CD00}-\x{1CEB3}\x{1F6DC}\x{1F774}-\x{1F776}\x{1F77B}-\x{1F77F}\x{1F7D9})"
R"(\x{1F8B2}-\x{1F8BB}\x{1F8C0}-\x{1F8C1}\x{1FA75}-\x{1FA77}\x{1FA87}-\x{1FA89}\x{1FA8F})"
R"(\x{1FAAD}-\x{1FAAF}\x{1FABB}-\x{1FABF}\x{1FAC6}\x{1FACE}-\x{1FACF}\x{1FADA}-\x{1FADC}\x{1FADF})"
R"(\x{1FAE8}-\x{1FAE9}\x{1FAF7}-\x{1FAF8}\x{1FBCB}-\x{1FBEF})"
},
{"sm", false,
R"(\x{10D8E}-\x{10D8F})"
},
{"so", false,
R"(\x{2427}-\x{2429}\x{2FFC}-\x{2FFF}\x{31E4}-\x{31E5}\x{31EF}\x{1CC00}-\x{1CCEF})"
R"(\x{1CD00}-\x{1CEB3}\x{1F6DC}\x{1F774}-\x{1F776}\x{1F77B}-\x{1F77F}\x{1F7D9}\x{1F8B2}-\x{1F8BB})"
R"(\x{1F8C0}-\x{1F8C1}\x{1FA75}-\x{1FA77}\x{1FA87}-\x{1FA89}\x{1FA8F}\x{1FAAD}-\x{1FAAF})"
R"(\x{1FABB}-\x{1FABF}\x{1FAC6}\x{1FACE}-\x{1FACF}\x{1FADA}-\x{1FADC}\x{1FADF}\x{1FAE8}-\x{1FAE9})"
R"(\x{1FAF7}-\x{1FAF8}\x{1FBCB}-\x{1FBEF})"
},
{"cf", false,
R"(\x{13439}-\x{1343F})"
},
{"alphabetic", false,
R"(\x{363}-\x{36F}\x{897}\x{C04}\x{CF3}\x{F82}-\x{F83}\x{1C89}-\x{1C8A}\x{1DD3}-\x{1DE6})"
R"(\x{A7CB}-\x{A7CD}\x{A7DA}-\x{A7DC}\x{105C0}-\x{105F3}\x{10D4A}-\x{10D65}\x{10D69})"
R"(\x{10D6F}-\x{10D85}\x{10EC2}-\x{10EC4}\x{10EFC}\x{11080}-\x{11081}\x{1123F}-\x{11241})"
R"(\x{11380}-\x{11389}\x{1138B}\x{1138E}\x{11390}-\x{113B5}\x{113B7}-\x{113C0}\x{113C2}\x{113C5})"
R"(\x{113C7}-\x{113CA}\x{113CC}-\x{113CD}\x{113D1}\x{113D3}\x{11BC0}-\x{11BE0}\x{11F00}-\x{11F10})"
R"(\x{11F12}-\x{11F3A}\x{11F3E}-\x{11F40}\x{1342F}\x{13441}-\x{13446}\x{13460}-\x{143FA})"
R"(\x{16100}-\x{1612E}\x{16D40}-\x{16D6C}\x{18CFF}\x{1B132}\x{1B155}\x{1DF25}-\x{1DF2A})"
R"(\x{1E030}-\x{1E06D}\x{1E08F}\x{1E4D0}-\x{1E4EB}\x{1E5D0}-\x{1E5ED}\x{1E5F0}\x{2B739})"
R"(\x{2EBF0}-\x{2EE5D}\x{31350}-\x{323AF})"
},
{"lowercase", false,
R"(\x{10FC}\x{1C8A}\x{A7CD}\x{A7DB}\x{A7F2}-\x{A7F4}\x{AB69}\x{10D70}-\x{10D85})"
R"(\x{1DF25}-\x{1DF2A}\x{1E030}-\x{1E06D})"
},
{"uppercase", false,
R"(\x{1C89}\x{A7CB}-\x{A7CC}\x{A7DA}\x{A7DC}\x{10D50}-\x{10D65})"
},
{"ideographic", false,
R"(\x{18CFF}\x{2B739}\x{2EBF0}-\x{2EE5D}\x{31350}-\x{323AF})"
},
{"emoji", false,
R"(\x{1F6DC}\x{1FA75}-\x{1FA77}\x{1FA87}-\x{1FA89}\x{1FA8F}\x{1FAAD}-\x{1FAAF}\x{1FABB}-\x{1FABF})"
R"(\x{1FAC6}\x{1FACE}-\x{1FACF}\x{1FADA}-\x{1FADC}\x{1FADF}\x{1FAE8}-\x{1FAE9}\x{1FAF7}-\x{1FAF8})"
},
{"emojipresentation", false,
R"(\x{1F6DC}\x{1FA75}-\x{1FA77}\x{1FA87}-\x{1FA89}\x{1FA8F}\x{1FAAD}-\x{1FAAF}\x{1FABB}-\x{1FABF})"
R"(\x{1FAC6}\x{1FACE}-\x{1FACF}\x{1FADA}-\x{1FADC}\x{1FADF}\x{1FAE8}-\x{1FAE9}\x{1FAF7}-\x{1FAF8})"
},
{"emojimodifierbase", false,
R"(\x{1FAF7}-\x{1FAF8})"
},
{"extendedpictographic", false,
R"(\x{1F02C}-\x{1F02F}\x{1F094}-\x{1F09F}\x{1F0AF}-\x{1F0B0}\x{1F0C0}\x{1F0D0}\x{1F0F6}-\x{1F0FF})"
R"(\x{1F1AE}-\x{1F1E5}\x{1F203}-\x{1F20F}\x{1F23C}-\x{1F23F}\x{1F249}-\x{1F24F})"
R"(\x{1F252}-\x{1F25F}\x{1F266}-\x{1F2FF}\x{1F6D8}-\x{1F6DC}\x{1F6ED}-\x{1F6EF})"
R"(\x{1F6FD}-\x{1F6FF}\x{1F774}-\x{1F77F}\x{1F7D9}-\x{1F7DF}\x{1F7EC}-\x{1F7EF})"
R"(\x{1F7F1}-\x{1F7FF}\x{1F80C}-\x{1F80F}\x{1F848}-\x{1F84F}\x{1F85A}-\x{1F85F})"
R"(\x{1F888}-\x{1F88F}\x{1F8AE}-\x{1F8AF}\x{1F8B2}-\x{1F8FF}\x{1FA54}-\x{1FA5F})"
R"(\x{1FA6E}-\x{1FA6F}\x{1FA75}-\x{1FA77}\x{1FA7D}-\x{1FA7F}\x{1FA87}-\x{1FA8F})"
R"(\x{1FAAD}-\x{1FAAF}\x{1FABB}-\x{1FABF}\x{1FAC6}-\x{1FACF}\x{1FADA}-\x{1FADF})"
R"(\x{1FAE8}-\x{1FAEF}\x{1FAF7}-\x{1FAFF}\x{1FC00}-\x{1FFFD})"
},
{"arabic", false,
R"(\x{897}\x{10EC2}-\x{10EC4}\x{10EFC}-\x{10EFF})"
},
{"balinese", false,
R"(\x{1B4E}-\x{1B4F}\x{1B7F})"
},
{"common", false,
R"(\x{2427}-\x{2429}\x{2FFC}-\x{2FFF}\x{31E4}-\x{31E5}\x{31EF}\x{1CC00}-\x{1CCF9})"
R"(\x{1CD00}-\x{1CEB3}\x{1D2C0}-\x{1D2D3}\x{1F6DC}\x{1F774}-\x{1F776}\x{1F77B}-\x{1F77F}\x{1F7D9})"
R"(\x{1F8B2}-\x{1F8BB}\x{1F8C0}-\x{1F8C1}\x{1FA75}-\x{1FA77}\x{1FA87}-\x{1FA89}\x{1FA8F})"
R"(\x{1FAAD}-\x{1FAAF}\x{1FABB}-\x{1FABF}\x{1FAC6}\x{1FACE}-\x{1FACF}\x{1FADA}-\x{1FADC}\x{1FADF})"
R"(\x{1FAE8}-\x{1FAE9}\x{1FAF7}-\x{1FAF8}\x{1FBCB}-\x{1FBEF})"
},
{"cyrillic", false,
R"(\x{1C89}-\x{1C8A}\x{1E030}-\x{1E06D}\x{1E08F})"
},
{"devanagari", false,
R"(\x{11B00}-\x{11B09})"
},
{"egyptianhieroglyphs", false,
R"(\x{1342F}\x{13439}-\x{13455}\x{13460}-\x{143FA})"
},
{"garay", true,
R"(\x{10D40}-\x{10D65}\x{10D69}-\x{10D85}\x{10D8E}-\x{10D8F})"
},
{"gurungkhema", true,
R"(\x{16100}-\x{16139})"
},
{"han", false,
R"(\x{2B739}\x{2EBF0}-\x{2EE5D}\x{31350}-\x{323AF})"
},
{"hiragana", false,
R"(\x{1B132})"
},
{"kannada", false,
R"(\x{CF3})"
},
{"katakana", false,
R"(\x{1B155})"
},
{"kawi", true,
R"(\x{11F00}-\x{11F10}\x{11F12}-\x{11F3A}\x{11F3E}-\x{11F5A})"
},
{"khojki", false,
R"(\x{1123F}-\x{11241})"
},
{"kiratrai", true,
R"(\x{16D40}-\x{16D79})"
},
{"lao", false,
R"(\x{ECE})"
},
{"latin", false,
R"(\x{A7CB}-\x{A7CD}\x{A7DA}-\x{A7DC}\x{1DF25}-\x{1DF2A})"
},
{"myanmar", false,
R"(\x{116D0}-\x{116E3})"
},
{"nagmundari", true,
R"(\x{1E4D0}-\x{1E4F9})"
},
{"olonal", true,
R"(\x{1E5D0}-\x{1E5FA}\x{1E5FF})"
},
{"sunuwar", true,
R"(\x{11BC0}-\x{11BE1}\x{11BF0}-\x{11BF9})"
},
{"todhri", true,
R"(\x{105C0}-\x{105F3})"
},
{"tulutigalari", true,
R"(\x{11380}-\x{11389}\x{1138B}\x{1138E}\x{11390}-\x{113B5}\x{113B7}-\x{113C0}\x{113C2}\x{113C5})"
R"(\x{113C7}-\x{113CA}\x{113CC}-\x{113D5}\x{113D7}-\x{113D8}\x{113E1}-\x{113E2})"
},
{"not cn", false,
R"(\x{897}\x{CF3}\x{ECE}\x{1B4E}-\x{1B4F}\x{1B7F}\x{1C89}-\x{1C8A}\x{2427}-\x{2429})"
R"(\x{2FFC}-\x{2FFF}\x{31E4}-\x{31E5}\x{31EF}\x{A7CB}-\x{A7CD}\x{A7DA}-\x{A7DC})"
R"(\x{105C0}-\x{105F3}\x{10D40}-\x{10D65}\x{10D69}-\x{10D85}\x{10D8E}-\x{10D8F})"
R"(\x{10EC2}-\x{10EC4}\x{10EFC}-\x{10EFF}\x{1123F}-\x{11241}\x{11380}-\x{11389}\x{1138B}\x{1138E})"
R"(\x{11390}-\x{113B5}\x{113B7}-\x{113C0}\x{113C2}\x{113C5}\x{113C7}-\x{113CA}\x{113CC}-\x{113D5})"
R"(\x{113D7}-\x{113D8}\x{113E1}-\x{113E2}\x{116D0}-\x{116E3}\x{11B00}-\x{11B09})"
R"(\x{11BC0}-\x{11BE1}\x{11BF0}-\x{11BF9}\x{11F00}-\x{11F10}\x{11F12}-\x{11F3A})"
R"(\x{11F3E}-\x{11F5A}\x{1342F}\x{13439}-\x{13455}\x{13460}-\x{143FA}\x{16100}-\x{16139})"
R"(\x{16D40}-\x{16D79}\x{18CFF}\x{1B132}\x{1B155}\x{1CC00}-\x{1CCF9}\x{1CD00}-\x{1CEB3})"
R"(\x{1D2C0}-\x{1D2D3}\x{1DF25}-\x{1DF2A}\x{1E030}-\x{1E06D}\x{1E08F}\x{1E4D0}-\x{1E4F9})"
R"(\x{1E5D0}-\x{1E5FA}\x{1E5FF}\x{1F6DC}\x{1F774}-\x{1F776}\x{1F77B}-\x{1F77F}\x{1F7D9})"
R"(\x{1F8B2}-\x{1F8BB}\x{1F8C0}-\x{1F8C1}\x{1FA75}-\x{1FA77}\x{1FA87}-\x{1FA89}\x{1FA8F})"
R"(\x{1FAAD}-\x{1FAAF}\x{1FABB}-\x{1FABF}\x{1FAC6}\x{1FACE}-\x{1FACF}\x{1FADA}-\x{1FADC}\x{1FADF})"
R"(\x{1FAE8}-\x{1FAE9}\x{1FAF7}-\x{1FAF8}\x{1FBCB}-\x{1FBEF}\x{2B739}\x{2EBF0}-\x{2EE5D})"
R"(\x{31350}-\x{323AF})"
},
{"not c", false,
R"(\x{897}\x{CF3}\x{ECE}\x{1B4E}-\x{1B4F}\x{1B7F}\x{1C89}-\x{1C8A}\x{2427}-\x{2429})"
R"(\x{2FFC}-\x{2FFF}\x{31E4}-\x{31E5}\x{31EF}\x{A7CB}-\x{A7CD}\x{A7DA}-\x{A7DC})"
R"(\x{105C0}-\x{105F3}\x{10D40}-\x{10D65}\x{10D69}-\x{10D85}\x{10D8E}-\x{10D8F})"
R"(\x{10EC2}-\x{10EC4}\x{10EFC}-\x{10EFF}\x{1123F}-\x{11241}\x{11380}-\x{11389}\x{1138B}\x{1138E})"
R"(\x{11390}-\x{113B5}\x{113B7}-\x{113C0}\x{113C2}\x{113C5}\x{113C7}-\x{113CA}\x{113CC}-\x{113D5})"
R"(\x{113D7}-\x{113D8}\x{113E1}-\x{113E2}\x{116D0}-\x{116E3}\x{11B00}-\x{11B09})"
R"(\x{11BC0}-\x{11BE1}\x{11BF0}-\x{11BF9}\x{11F00}-\x{11F10}\x{11F12}-\x{11F3A})"
R"(\x{11F3E}-\x{11F5A}\x{1342F}\x{13440}-\x{13455}\x{13460}-\x{143FA}\x{16100}-\x{16139})"
R"(\x{16D40}-\x{16D79}\x{18CFF}\x{1B132}\x{1B155}\x{1CC00}-\x{1CCF9}\x{1CD00}-\x{1CEB3})"
R"(\x{1D2C0}-\x{1D2D3}\x{1DF25}-\x{1DF2A}\x{1E030}-\x{1E06D}\x{1E08F}\x{1E4D0}-\x{1E4F9})"
R"(\x{1E5D0}-\x{1E5FA}\x{1E5FF}\x{1F6DC}\x{1F774}-\x{1F776}\x{1F77B}-\x{1F77F}\x{1F7D9})"
R"(\x{1F8B2}-\x{1F8BB}\x{1F8C0}-\x{1F8C1}\x{1FA75}-\x{1FA77}\x{1FA87}-\x{1FA89}\x{1FA8F})"
R"(\x{1FAAD}-\x{1FAAF}\x{1FABB}-\x{1FABF}\x{1FAC6}\x{1FACE}-\x{1FACF}\x{1FADA}-\x{1FADC}\x{1FADF})"
R"(\x{1FAE8}-\x{1FAE9}\x{1FAF7}-\x{1FAF8}\x{1FBCB}-\x{1FBEF}\x{2B739}\x{2EBF0}-\x{2EE5D})"
R"(\x{31350}-\x{323AF})"
},
}};

constexpr std::array<OtherCases, 14> kOthers = {{
{"lc",
R"(\x{345})"
},
{"l",
R"(\x{345})"
},
{"lu",
""
},
{"ll",
""
},
{"lt",
""
},
{"m",
R"(\x{399}\x{3B9}\x{1FBE})"
},
{"mn",
R"(\x{399}\x{3B9}\x{1FBE})"
},
{"lowercase",
""
},
{"uppercase",
""
},
{"emoji",
R"(\x{24DC})"
},
{"extendedpictographic",
R"(\x{24DC})"
},
{"common",
R"(\x{39C}\x{3BC})"
},
{"greek",
R"(\x{B5}\x{345})"
},
{"inherited",
R"(\x{399}\x{3B9}\x{1FBE})"
},
}};

constexpr std::array<NewerCase, 60> kNewerCases = {{
{0x19B,0xA7DC},{0x264,0xA7CB},{0x390,0x1FD3},{0x3B0,0x1FE3},{0x1C89,0x1C8A},{0x1C8A,0x1C89},
{0x1FD3,0x390},{0x1FE3,0x3B0},{0xA7CB,0x264},{0xA7CC,0xA7CD},{0xA7CD,0xA7CC},{0xA7DA,0xA7DB},
{0xA7DB,0xA7DA},{0xA7DC,0x19B},{0xFB05,0xFB06},{0xFB06,0xFB05},{0x10D50,0x10D70},{0x10D51,0x10D71},
{0x10D52,0x10D72},{0x10D53,0x10D73},{0x10D54,0x10D74},{0x10D55,0x10D75},{0x10D56,0x10D76},
{0x10D57,0x10D77},{0x10D58,0x10D78},{0x10D59,0x10D79},{0x10D5A,0x10D7A},{0x10D5B,0x10D7B},
{0x10D5C,0x10D7C},{0x10D5D,0x10D7D},{0x10D5E,0x10D7E},{0x10D5F,0x10D7F},{0x10D60,0x10D80},
{0x10D61,0x10D81},{0x10D62,0x10D82},{0x10D63,0x10D83},{0x10D64,0x10D84},{0x10D65,0x10D85},
{0x10D70,0x10D50},{0x10D71,0x10D51},{0x10D72,0x10D52},{0x10D73,0x10D53},{0x10D74,0x10D54},
{0x10D75,0x10D55},{0x10D76,0x10D56},{0x10D77,0x10D57},{0x10D78,0x10D58},{0x10D79,0x10D59},
{0x10D7A,0x10D5A},{0x10D7B,0x10D5B},{0x10D7C,0x10D5C},{0x10D7D,0x10D5D},{0x10D7E,0x10D5E},
{0x10D7F,0x10D5F},{0x10D80,0x10D60},{0x10D81,0x10D61},{0x10D82,0x10D62},{0x10D83,0x10D63},
{0x10D84,0x10D64},{0x10D85,0x10D65},
}};

}  // namespace

std::span<const NewerCharacters> newer_characters() { return kNewer; }
std::span<const OtherCases> other_cases() { return kOthers; }
std::span<const NewerCase> newer_cases() { return kNewerCases; }

}  // namespace polystate::tokenizer
