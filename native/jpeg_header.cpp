#include "jpeg_header.hpp"

#include <algorithm>
#include <cstring>

namespace penstock {

namespace {

// Reads big-endian numbers; past the end it gives zeros and remembers that it did.
class Reader {
 public:
  explicit Reader(Bytes data, size_t at = 0) : data_(data), at_(at) {}
  bool ok() const { return ok_; }
  size_t at() const { return at_; }
  size_t left() const { return data_.size() - at_; }
  uint8_t u8() {
    if (at_ >= data_.size()) {
      ok_ = false;
      return 0;
    }
    return data_[at_++];
  }
  uint16_t u16() {
    const int high = u8();
    return static_cast<uint16_t>(high << 8 | u8());
  }
  Bytes take(size_t n) {
    if (n > left()) {
      ok_ = false;
      n = left();
    }
    Bytes part = data_.subspan(at_, n);
    at_ += n;
    return part;
  }

 private:
  Bytes data_;
  size_t at_;
  bool ok_ = true;
};

// The orientation tag of an EXIF block; 1 where there is none that makes sense.
int exif_orientation(Bytes tiff) {
  if (tiff.size() < 8) return 1;
  const bool little = tiff[0] == 'I' && tiff[1] == 'I';
  if (!little && !(tiff[0] == 'M' && tiff[1] == 'M')) return 1;
  const auto u16 = [&](size_t at) -> uint32_t {
    if (at + 2 > tiff.size()) return 0;
    return little ? tiff[at] | tiff[at + 1] << 8 : tiff[at] << 8 | tiff[at + 1];
  };
  const auto u32 = [&](size_t at) -> uint32_t {
    if (at + 4 > tiff.size()) return 0;
    return little ? u16(at) | u16(at + 2) << 16 : u16(at) << 16 | u16(at + 2);
  };
  const size_t directory = u32(4);
  if (directory + 2 > tiff.size()) return 1;
  const uint32_t entries = u16(directory);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + static_cast<size_t>(i) * 12;
    if (entry + 12 > tiff.size()) break;
    if (u16(entry) != 0x0112) continue;
    const uint32_t value = u16(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

void read_app(uint8_t marker, Bytes body, JpegHeader& header) {
  if (marker == 0xE0 && body.size() >= 14 && std::memcmp(body.data(), "JFIF\0", 5) == 0) header.saw_jfif = true;
  if (marker == 0xE1 && body.size() >= 6 && std::memcmp(body.data(), "Exif\0", 5) == 0)
    header.orientation = exif_orientation(body.subspan(6));
  if (marker == 0xEE && body.size() >= 12 && std::memcmp(body.data(), "Adobe", 5) == 0) header.adobe_transform = body[11];
}

bool read_quantizers(Bytes body, JpegHeader& header) {
  Reader in(body);
  while (in.left() > 0) {
    const int about = in.u8(), slot = about & 15;
    if (slot > 3 || about >> 4 > 1) return false;
    for (auto& q : header.quantizers[slot]) q = about >> 4 ? in.u16() : in.u8();
    header.has_quantizer[slot] = true;
  }
  return in.ok();
}

bool read_huffman(Bytes body, JpegHeader& header) {
  Reader in(body);
  while (in.left() > 0) {
    const int about = in.u8(), slot = about & 15;
    if (slot > 3 || about >> 4 > 1) return false;
    auto& spec = about >> 4 ? header.ac[slot] : header.dc[slot];
    int total = 0;
    for (auto& count : spec.counts) total += count = in.u8();
    if (total > 256) return false;
    spec.symbols.fill(0);
    for (int i = 0; i < total; ++i) spec.symbols[i] = in.u8();
    spec.present = true;
  }
  return in.ok();
}

std::string read_frame(Bytes body, JpegHeader& header) {
  Reader in(body);
  header.precision = in.u8();
  header.height = in.u16();
  header.width = in.u16();
  const int count = in.u8();
  if (!in.ok()) return "the frame header is cut short";
  if (header.width == 0) return "the frame header says a width of 0";
  if (header.height == 0) return "the frame header says a height of 0";
  if (count < 1 || count > 4) return "the frame header says " + std::to_string(count) + " components";
  header.component_count = count;
  for (int i = 0; i < count; ++i) {
    auto& c = header.components[i];
    c.id = in.u8();
    const int hv = in.u8();
    c.h = static_cast<uint8_t>(hv >> 4);
    c.v = static_cast<uint8_t>(hv & 15);
    c.quantizer = in.u8();
    if (c.h < 1 || c.h > 4 || c.v < 1 || c.v > 4) return "the frame header has a sampling factor outside 1 to 4";
  }
  return in.ok() ? "" : "the frame header is cut short";
}

std::string read_scan(Bytes body, JpegHeader& header) {
  Reader in(body);
  const int count = in.u8();
  bool whole = count == header.component_count;
  for (int i = 0; i < count && in.ok(); ++i) {
    const int id = in.u8(), tables = in.u8();
    if (i >= header.component_count || header.components[i].id != id) {
      whole = false;
      continue;
    }
    header.components[i].dc_table = static_cast<uint8_t>(tables >> 4);
    header.components[i].ac_table = static_cast<uint8_t>(tables & 15);
  }
  const int first = in.u8(), last = in.u8(), bits = in.u8();
  if (!in.ok() || in.left() > 0) return "the scan header has the wrong length";
  header.scan_is_whole = whole && first == 0 && last == 63 && bits == 0;
  return "";
}

bool is_frame(uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

}  // namespace

int JpegHeader::max_h() const {
  int most = 1;
  for (int i = 0; i < component_count; ++i) most = std::max<int>(most, components[i].h);
  return most;
}

int JpegHeader::max_v() const {
  int most = 1;
  for (int i = 0; i < component_count; ++i) most = std::max<int>(most, components[i].v);
  return most;
}

// As libjpeg guesses.
JpegHeader::Colour JpegHeader::colour() const {
  if (component_count == 1) return Colour::kGrey;
  if (component_count != 3) return Colour::kFour;
  if (saw_jfif) return Colour::kYcc;
  if (adobe_transform >= 0) return adobe_transform == 0 ? Colour::kRgb : Colour::kYcc;
  return components[0].id == 'R' && components[1].id == 'G' && components[2].id == 'B' ? Colour::kRgb : Colour::kYcc;
}

std::string JpegHeader::odd_colour() const {
  return component_count == 4 ? "four components (CMYK or YCCK)" : std::to_string(component_count) + " components";
}

bool JpegHeader::fits_into(size_t bytes) const {
  if (frame_marker > 0xC2) return true;
  const int64_t across = (width + 7) / 8, down = (height + 7) / 8;
  return across * down / 8 <= static_cast<int64_t>(bytes);
}

std::string JpegHeader::process() const {
  switch (frame_marker) {
    case 0xC0: return "baseline";
    case 0xC1: return "extended";
    case 0xC2: return "progressive";
    case 0xC9: case 0xCA: return "arithmetic";
    case 0xC3: case 0xCB: return "lossless";
    default: return "hierarchical";
  }
}

std::string JpegHeader::sampling() const {
  if (component_count == 1) return "grey";
  const auto& luma = components[0];
  for (int i = 1; i < component_count; ++i)
    if (components[i].h != 1 || components[i].v != 1) {
      bool equal = true;
      for (int k = 1; k < component_count; ++k) equal &= components[k].h == luma.h && components[k].v == luma.v;
      return equal ? "4:4:4" : "mixed";
    }
  if (luma.h == 1 && luma.v == 1) return "4:4:4";
  if (luma.h == 2 && luma.v == 1) return "4:2:2";
  if (luma.h == 2 && luma.v == 2) return "4:2:0";
  if (luma.h == 1 && luma.v == 2) return "4:4:0";
  if (luma.h == 4 && luma.v == 1) return "4:1:1";
  if (luma.h == 4 && luma.v == 2) return "4:1:0";
  return "mixed";
}

std::string parse_jpeg(Bytes data, JpegHeader& header, bool frame_only) {
  Reader in(data);
  if (in.u8() != 0xFF || in.u8() != 0xD8) return "not a JPEG: it does not start with FF D8";
  while (true) {
    // Markers may be preceded by any number of FF; libjpeg also skips garbage before them, with a warning.
    int byte = in.u8();
    while (in.ok() && byte != 0xFF) byte = in.u8();
    while (in.ok() && byte == 0xFF) byte = in.u8();
    const uint8_t marker = static_cast<uint8_t>(byte);
    if (!in.ok()) return "the data ends before the first scan";
    if (marker == 0 || marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7)) continue;  // carry no length
    if (marker < 0xC0 || (marker >= 0xF0 && marker != 0xFE) || marker == 0xDE || marker == 0xDF || marker == 0xC8)
      return "unknown marker " + std::to_string(marker) + " before byte " + std::to_string(in.at());
    if (marker == 0xD8) return "a second start-of-image marker inside the headers";
    if (marker == 0xD9) return "the image ends before its first scan";
    const size_t start = in.at() - 2;
    const int length = in.u16();
    if (length < 2) return "segment " + std::to_string(marker) + " at byte " + std::to_string(start) + " has length " + std::to_string(length);
    const Bytes body = in.take(length - 2);
    if (!in.ok()) return "the data ends inside the segment at byte " + std::to_string(start);
    if (is_frame(marker)) {
      if (header.frame_marker) return "two frame headers";
      if (std::string why = read_frame(body, header); !why.empty()) return why;
      header.frame_marker = marker;
      if (frame_only) return "";
    } else if (marker == 0xDA) {
      if (!header.frame_marker) return "a scan before the frame header";
      if (std::string why = read_scan(body, header); !why.empty()) return why;
      header.has_scan = true;
      header.scan_offset = in.at();
      return "";
    } else if (marker == 0xDB) {
      if (!read_quantizers(body, header)) return "a quantisation table is damaged";
    } else if (marker == 0xC4) {
      if (!read_huffman(body, header)) return "a Huffman table is damaged";
    } else if (marker == 0xDD) {
      if (body.size() != 2) return "the restart interval segment has length " + std::to_string(length);
      header.restart_interval = body[0] << 8 | body[1];
    } else if (marker >= 0xE0 && marker <= 0xEF) {
      read_app(marker, body, header);
    }
  }
}

}  // namespace penstock
