// A JPEG's headers, up to and including its first scan header. Reads bytes, touches nothing else; every read is bounded.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace penstock {

using Bytes = std::span<const uint8_t>;

struct JpegHeader {
  struct Component {
    uint8_t id = 0, h = 0, v = 0, quantizer = 0;
    uint8_t dc_table = 0, ac_table = 0;
  };
  struct HuffmanSpec {
    bool present = false;
    std::array<uint8_t, 16> counts{};  // codes of each length, 1 … 16
    std::array<uint8_t, 256> symbols{};
    bool operator==(const HuffmanSpec&) const = default;
  };
  enum class Colour { kGrey, kYcc, kRgb, kFour };

  int width = 0, height = 0, precision = 0;
  uint8_t frame_marker = 0;  // SOF0 … SOF15; 0: none seen
  int component_count = 0;
  std::array<Component, 4> components{};
  std::array<std::array<uint16_t, 64>, 4> quantizers{};  // in zigzag order
  std::array<bool, 4> has_quantizer{};
  std::array<HuffmanSpec, 4> dc, ac;
  int restart_interval = 0;
  bool saw_jfif = false;
  int adobe_transform = -1;  // -1: no Adobe marker
  int orientation = 1;       // EXIF
  bool has_scan = false;
  bool scan_is_whole = false;  // one scan, every component in frame order, all coefficients at once
  size_t scan_offset = 0;      // where entropy-coded data starts

  int max_h() const;
  int max_v() const;
  Colour colour() const;
  std::string odd_colour() const;  // what kFour is, for people
  // Whether so many bytes can hold the image: a Huffman-coded block takes a bit at the least. (Arithmetic coding has no limit.)
  bool fits_into(size_t bytes) const;
  std::string process() const;   // "baseline", "extended", "progressive", "arithmetic", "lossless"
  std::string sampling() const;  // "4:2:0", "grey", …
};

// Fills `header`; returns an empty string, or why the data cannot be read that far. What was understood before the
// trouble stays in `header` (frame_marker tells whether the frame was reached). With `frame_only`, stops at the frame.
std::string parse_jpeg(Bytes data, JpegHeader& header, bool frame_only = false);

}  // namespace penstock
