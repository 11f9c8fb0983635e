#include "jpeg_tiles.hpp"

#include <algorithm>
#include <cstring>

#include "idct.hpp"
#include "simd.hpp"

namespace penstock {

namespace {

int divide_up(int a, int b) { return (a + b - 1) / b; }

// Position of the next FF that is not followed by 00, from `at` on; data.size() if there is none. Fill bytes count as markers.
size_t find_marker_scalar(Bytes data, size_t at) {
  while (at + 1 < data.size()) {
    const void* found = std::memchr(data.data() + at, 0xFF, data.size() - 1 - at);
    if (!found) break;
    at = static_cast<size_t>(static_cast<const uint8_t*>(found) - data.data());
    if (data[at + 1] != 0) return at;
    at += 2;
  }
  return data.size();
}

// Copies `data` to `out` leaving out the 00 after each FF; returns the bytes written. `out` needs 32 bytes more than that.
size_t unstuff_scalar(Bytes data, uint8_t* out) {
  size_t written = 0;
  for (size_t i = 0; i < data.size(); ++i) {
    out[written++] = data[i];
    if (data[i] == 0xFF) ++i;
  }
  return written;
}

#if PENSTOCK_X86
PENSTOCK_AVX2 size_t find_marker_avx2(Bytes data, size_t at) {
  const __m256i ff = _mm256_set1_epi8(-1), zero = _mm256_setzero_si256();
  for (; at + 33 <= data.size(); at += 32) {
    const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data.data() + at));
    const __m256i next = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data.data() + at + 1));
    const __m256i found = _mm256_andnot_si256(_mm256_cmpeq_epi8(next, zero), _mm256_cmpeq_epi8(here, ff));
    if (const uint32_t mask = static_cast<uint32_t>(_mm256_movemask_epi8(found))) return at + _tzcnt_u32(mask);
  }
  return find_marker_scalar(data, at);
}

PENSTOCK_AVX2 size_t unstuff_avx2(Bytes data, uint8_t* out) {
  const __m256i ff = _mm256_set1_epi8(-1);
  size_t at = 0, written = 0;
  while (at + 32 <= data.size()) {
    const __m256i here = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data.data() + at));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + written), here);
    const uint32_t mask = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(here, ff)));
    if (mask == 0) [[likely]] {
      at += 32;
      written += 32;
    } else {
      const uint32_t upto = _tzcnt_u32(mask) + 1;
      at += upto + 1;
      written += upto;
    }
  }
  return at < data.size() ? written + unstuff_scalar(data.subspan(at), out + written) : written;
}
#endif

size_t find_marker(Bytes data, size_t at) {
#if PENSTOCK_X86
  if (has_avx2()) return find_marker_avx2(data, at);
#endif
  return find_marker_scalar(data, at);
}

}  // namespace

bool TileDecoder::takes(const JpegHeader& header) {
  if (header.frame_marker != 0xC0 && header.frame_marker != 0xC1) return false;
  if (header.precision != 8 || !header.scan_is_whole) return false;
  const int n = header.component_count;
  if (n != 1 && n != 3) return false;
  for (int c = 0; c < n; ++c) {
    const auto& part = header.components[c];
    if (part.quantizer > 3 || !header.has_quantizer[part.quantizer]) return false;
    if (part.dc_table > 3 || part.ac_table > 3) return false;
    if (!header.dc[part.dc_table].present || !header.ac[part.ac_table].present) return false;
    if (c > 0 && (part.h != 1 || part.v != 1)) return false;
  }
  const auto& luma = header.components[0];
  return n == 1 || ((luma.h == 1 || luma.h == 2 || luma.h == 4) && (luma.v == 1 || luma.v == 2));
}

int TileDecoder::component_reduction(const JpegHeader& header, int c, int reduction) {
  if (c == 0) return reduction;
  return std::max(1, reduction / std::max<int>(header.components[0].h, header.components[0].v));
}

Grid TileDecoder::grid_x(const JpegHeader& header, int c, int reduction) {
  const int factor = c == 0 ? 1 : header.components[0].h;
  const int samples = divide_up(header.width, factor);
  // libjpeg smooths chroma sideways only where there are at least three samples.
  return {samples, factor, factor == 2 && samples > 2, component_reduction(header, c, reduction)};
}

Grid TileDecoder::grid_y(const JpegHeader& header, int c, int reduction) {
  const int factor = c == 0 ? 1 : header.components[0].v;
  const int samples = divide_up(header.height, factor);
  const int across = c == 0 ? 1 : header.components[0].h;
  // Down, it smooths 4:2:0 under the same condition, 4:4:0 always, and nothing else.
  const bool smooth = factor == 2 && (across == 1 || (across == 2 && divide_up(header.width, 2) > 2));
  return {samples, factor, smooth, component_reduction(header, c, reduction)};
}

bool TileDecoder::prepare(const JpegHeader& header, int reduction, const Range x[3], const Range y[3], Plane planes[3]) {
  part_count_ = header.component_count;
  const bool single = part_count_ == 1;  // a scan of one component has MCUs of one block, whatever its factors
  const int mcu_width = single ? 8 : 8 * header.components[0].h;
  mcus_across_ = divide_up(header.width, mcu_width);
  window_ = {INT32_MAX, 0, INT32_MAX, 0};
  for (int c = 0; c < part_count_; ++c) {
    Part& part = parts_[c];
    const auto& about = header.components[c];
    part.reduction = component_reduction(header, c, reduction);
    part.size = 8 / part.reduction;
    part.blocks_x = single ? 1 : about.h;
    part.blocks_y = single ? 1 : about.v;
    part.quantizer = header.quantizers[about.quantizer].data();
    part.dc = &dc_[about.dc_table];
    part.ac = &ac_[about.ac_table];
    const int width = part.size * part.blocks_x, height = part.size * part.blocks_y;  // samples per MCU
    window_.column_start = std::min(window_.column_start, x[c].start / width);
    window_.column_stop = std::max(window_.column_stop, divide_up(x[c].stop, width));
    window_.row_start = std::min(window_.row_start, y[c].start / height);
    window_.row_stop = std::max(window_.row_stop, divide_up(y[c].stop, height));
  }
  for (int c = 0; c < part_count_; ++c) {
    Part& part = parts_[c];
    const int width = part.size * part.blocks_x, height = part.size * part.blocks_y;
    const int columns = window_.column_stop - window_.column_start, rows = window_.row_stop - window_.row_start;
    part.stride = (static_cast<size_t>(columns) * width + 31) / 32 * 32 + Plane::kSlack;
    part.samples = samples_[c].take(part.stride * rows * height + Plane::kSlack);
    planes[c].stride = part.stride;
    planes[c].data = part.samples + static_cast<size_t>(y[c].start - window_.row_start * height) * part.stride +
                     (x[c].start - window_.column_start * width);
    planes[c].x = x[c];
    planes[c].y = y[c];
  }
  // Tables are often shared or repeated; each is built once.
  bool dc_built[4] = {}, ac_built[4] = {};
  for (int c = 0; c < part_count_; ++c) {
    const auto& about = header.components[c];
    if (!dc_built[about.dc_table] && !dc_[about.dc_table].build(header.dc[about.dc_table], true)) return false;
    if (!ac_built[about.ac_table] && !ac_[about.ac_table].build(header.ac[about.ac_table], false)) return false;
    dc_built[about.dc_table] = ac_built[about.ac_table] = true;
  }
  return true;
}

// Notes where tiles end, up to `last_tile`. Restart markers must count 0 … 7 in a circle, one after every tile but the last.
bool TileDecoder::find_tiles(Bytes scan, int interval, int last_tile) {
  ends_.clear();
  size_t at = 0;
  for (int tile = 0; tile <= last_tile; ++tile) {
    at = find_marker(scan, at);
    if (at == scan.size()) return false;  // cut short: not even an end of image
    ends_.push_back(at);
    if (tile == last_tile) break;
    if (interval == 0 || scan[at + 1] != 0xD0 + (tile & 7)) return false;
    at += 2;
  }
  return true;
}

Bytes TileDecoder::unstuff(Bytes tile) {
  uint8_t* clean = clean_.take(tile.size() + BitReader::kSlack + 32);
  size_t size;
#if PENSTOCK_X86
  size = has_avx2() ? unstuff_avx2(tile, clean) : unstuff_scalar(tile, clean);
#else
  size = unstuff_scalar(tile, clean);
#endif
  std::memset(clean + size, 0, BitReader::kSlack);
  return {clean, size};
}

bool TileDecoder::decode_mcu(BitReader& in, int row, int column) {
  int used = 0;
  uint32_t has_detail = 0;
  for (int c = 0; c < part_count_; ++c) {
    const Part& part = parts_[c];
    for (int b = 0; b < part.blocks_x * part.blocks_y; ++b, ++used) {
      const int last = decode_block(in, *part.dc, *part.ac, part.quantizer, last_dc_[c], blocks_[used]);
      if (last < 0) {
        std::memset(blocks_, 0, sizeof blocks_);
        return false;
      }
      has_detail |= static_cast<uint32_t>(last > 0) << used;
    }
  }
  used = 0;
  for (int c = 0; c < part_count_; ++c) {
    const Part& part = parts_[c];
    const int count = part.blocks_x * part.blocks_y;
    uint8_t* corner = part.samples + (static_cast<size_t>(row - window_.row_start) * part.blocks_y * part.stride +
                                      static_cast<size_t>(column - window_.column_start) * part.blocks_x) * part.size;
    const auto place = [&](int b) {
      return corner + (static_cast<size_t>(b / part.blocks_x) * part.stride + b % part.blocks_x) * part.size;
    };
    for (int b = 0; b < count; b += 2) {
      const int other = b + 1 < count ? b + 1 : b;
      idct_two(blocks_[used + b], blocks_[used + other], part.reduction, place(b), place(other), part.stride);
    }
    used += count;
  }
  std::memset(blocks_, 0, sizeof(blocks_[0]) * used);
  return true;
}

bool TileDecoder::skip_mcu(BitReader& in) {
  for (int c = 0; c < part_count_; ++c)
    for (int b = 0; b < parts_[c].blocks_x * parts_[c].blocks_y; ++b)
      if (!skip_block(in, *parts_[c].dc, *parts_[c].ac, last_dc_[c])) return false;
  return true;
}

// MCUs [first_mcu, stop_mcu) of the scan; `whole`: the tile ends with the last of them.
bool TileDecoder::decode_tile(Bytes tile, int first_mcu, int stop_mcu, bool whole) {
  const Bytes clean = unstuff(tile);
  BitReader in(clean.data(), clean.data() + clean.size());
  std::fill(last_dc_, last_dc_ + 3, 0);
  int row = first_mcu / mcus_across_, column = first_mcu % mcus_across_;
  for (int mcu = first_mcu; mcu < stop_mcu; ++mcu) {
    const bool wanted = row >= window_.row_start && row < window_.row_stop && column >= window_.column_start && column < window_.column_stop;
    if (!(wanted ? decode_mcu(in, row, column) : skip_mcu(in))) return false;
    if (++column == mcus_across_) {
      column = 0;
      ++row;
    }
  }
  return whole ? in.ended_well() : in.within();
}

bool TileDecoder::decode(Bytes data, const JpegHeader& header, int reduction, const Range x[3], const Range y[3], Plane planes[3]) {
  if (!prepare(header, reduction, x, y, planes)) return false;
  const int mcu_height = part_count_ == 1 ? 8 : 8 * header.components[0].v;
  const int total = mcus_across_ * divide_up(header.height, mcu_height);
  const int wanted_stop = (window_.row_stop - 1) * mcus_across_ + window_.column_stop;
  const int interval = header.restart_interval ? header.restart_interval : total;
  const Bytes scan = data.subspan(header.scan_offset);
  if (!find_tiles(scan, header.restart_interval, (wanted_stop - 1) / interval)) return false;
  int next = 0;  // tiles before this one are done
  for (int row = window_.row_start; row < window_.row_stop; ++row) {
    const int first = (row * mcus_across_ + window_.column_start) / interval;
    const int last = (row * mcus_across_ + window_.column_stop - 1) / interval;
    for (next = std::max(next, first); next <= last; ++next) {
      const size_t begin = next ? ends_[next - 1] + 2 : 0, end = ends_[next];
      const int first_mcu = next * interval, stop_mcu = std::min({first_mcu + interval, wanted_stop, total});
      const bool whole = stop_mcu == std::min(first_mcu + interval, total);
      if (!decode_tile(scan.subspan(begin, end - begin), first_mcu, stop_mcu, whole)) return false;
    }
  }
  return true;
}

}  // namespace penstock
