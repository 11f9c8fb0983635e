#include "jpeg_tiles.hpp"

#include <algorithm>
#include <cstring>

#include "idct.hpp"
#include "simd.hpp"

namespace penstock {

namespace {

constexpr int kSampledMcus = 15;  // one of so many is looked at; an odd number, so that samples do not line up in columns

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

size_t unstuff(Bytes data, uint8_t* out) {
#if PENSTOCK_X86
  if (has_avx2()) return unstuff_avx2(data, out);
#endif
  return unstuff_scalar(data, out);
}

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
  if (!header.saw_jfif && header.adobe_transform > 1) return false;  // libjpeg guesses, and says so
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
  return std::max(1, reduction / std::min<int>(header.components[0].h, header.components[0].v));
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

// What follows from the header alone; parts of components, tables. reduction_ is set.
bool TileDecoder::prepare(const JpegHeader& header) {
  part_count_ = header.component_count;
  const bool single = part_count_ == 1;  // a scan of one component has MCUs of one block, whatever its factors
  const int mcu_width = single ? 8 : 8 * header.components[0].h, mcu_height = single ? 8 : 8 * header.components[0].v;
  mcus_across_ = divide_up(header.width, mcu_width);
  total_ = mcus_across_ * divide_up(header.height, mcu_height);
  interval_ = header.restart_interval ? header.restart_interval : total_;
  block_count_ = 0;
  // Tables are often shared; each is built once.
  bool dc_built[4] = {}, ac_built[4] = {};
  for (int c = 0; c < part_count_; ++c) {
    Part& part = parts_[c];
    const auto& about = header.components[c];
    part.reduction = component_reduction(header, c, reduction_);
    part.size = 8 / part.reduction;
    part.blocks_x = single ? 1 : about.h;
    part.blocks_y = single ? 1 : about.v;
    part.quantizer = header.quantizers[about.quantizer].data();
    part.dc = &dc_[about.dc_table];
    part.ac = &ac_[about.ac_table];
    for (int b = 0; b < part.blocks_x * part.blocks_y; ++b) part_of_block_[block_count_++] = static_cast<uint8_t>(c);
    if (!dc_built[about.dc_table] && !dc_[about.dc_table].build(header.dc[about.dc_table], true)) return false;
    if (!ac_built[about.ac_table] && !ac_[about.ac_table].build(header.ac[about.ac_table], false)) return false;
    dc_built[about.dc_table] = ac_built[about.ac_table] = true;
  }
  return true;
}

// The MCUs that hold the wanted samples of every component.
void TileDecoder::choose_window(const Range x[3], const Range y[3]) {
  window_ = {INT32_MAX, 0, INT32_MAX, 0};
  for (int c = 0; c < part_count_; ++c) {
    const int width = parts_[c].width(), height = parts_[c].height();
    window_.column_start = std::min(window_.column_start, x[c].start / width);
    window_.column_stop = std::max(window_.column_stop, divide_up(x[c].stop, width));
    window_.row_start = std::min(window_.row_start, y[c].start / height);
    window_.row_stop = std::max(window_.row_stop, divide_up(y[c].stop, height));
  }
}

void TileDecoder::lay_planes(const Range x[3], const Range y[3], Plane planes[3]) {
  const int columns = window_.column_stop - window_.column_start, rows = window_.row_stop - window_.row_start;
  for (int c = 0; c < part_count_; ++c) {
    Part& part = parts_[c];
    part.stride = (static_cast<size_t>(columns) * part.width() + 31) / 32 * 32 + Plane::kSlack;
    part.samples = samples_[c].take(part.stride * rows * part.height() + Plane::kSlack);
    planes[c].stride = part.stride;
    planes[c].data = part.samples + static_cast<size_t>(y[c].start - window_.row_start * part.height()) * part.stride +
                     (x[c].start - window_.column_start * part.width());
    planes[c].x = x[c];
    planes[c].y = y[c];
  }
}

// Notes where tiles end, up to `last_tile`. Restart markers must count 0 … 7 in a circle, one after every tile but the last.
bool TileDecoder::find_tiles(Bytes scan, int interval, int last_tile) {
  const int tiles = divide_up(total_, interval_);
  ends_.clear();
  size_t at = 0;
  for (int tile = 0; tile <= last_tile; ++tile) {
    at = find_marker(scan, at);
    if (at == scan.size()) return false;  // cut short: not even an end of image
    ends_.push_back(at);
    if (tile == tiles - 1 && scan[at + 1] != 0xD9) return false;  // another scan, or something stranger
    if (tile == last_tile) break;
    if (interval == 0 || scan[at + 1] != 0xD0 + (tile & 7)) return false;
    at += 2;
  }
  return true;
}

// Tiles that hold wanted MCUs, in order.
bool TileDecoder::list_wanted() {
  wanted_.clear();
  next_wanted_ = 0;
  int next = 0;  // tiles before this one are listed or not wanted
  for (int row = window_.row_start; row < window_.row_stop; ++row) {
    const int first = (row * mcus_across_ + window_.column_start) / interval_;
    const int last = (row * mcus_across_ + window_.column_stop - 1) / interval_;
    for (next = std::max(next, first); next <= last; ++next) wanted_.push_back(next);
  }
  return !wanted_.empty();
}

// Sets `lane` to the start of the next wanted tile; false if there is none (or, with damaged_ set, if it is damaged).
bool TileDecoder::open_tile(TileLane& lane) {
  if (next_wanted_ == wanted_.size()) return false;
  const int tile = wanted_[next_wanted_++];
  const size_t begin = tile ? ends_[tile - 1] + 2 : 0;
  const Bytes stuffed = scan_.subspan(begin, ends_[tile] - begin);
  uint8_t* clean = lane.clean.take(stuffed.size() + BitReader::kSlack + 32);
  const size_t size = unstuff(stuffed, clean);
  std::memset(clean + size, 0, BitReader::kSlack);
  lane.in.open(clean, clean + size);
  lane.mcu = tile * interval_;
  const int tile_stop = std::min(lane.mcu + interval_, total_);
  lane.stop_mcu = std::min(tile_stop, wanted_stop_);
  lane.whole = lane.stop_mcu == tile_stop;
  lane.row = lane.mcu / mcus_across_;
  lane.column = lane.mcu % mcus_across_;
  lane.block_in_mcu = 0;
  std::fill(lane.last_dc, lane.last_dc + 3, 0);
  return open_block(lane);
}

// Reads the DC of the lane's next block and sets it up for the rest.
bool TileDecoder::open_block(TileLane& lane) {
  const int c = part_of_block_[lane.block_in_mcu];
  const Part& part = parts_[c];
  lane.in.refill();
  if (!read_dc(lane.in, *part.dc, lane.last_dc[c])) {
    damaged_ = true;
    return false;
  }
  lane.block = lane.blocks[lane.block_in_mcu];
  lane.block[0] = static_cast<int16_t>(static_cast<uint32_t>(lane.last_dc[c]) * part.quantizer[0]);
  lane.quantizer = part.quantizer;
  lane.ac = part.ac;
  lane.k = 0;
  return true;
}

// Goes on from a complete block; false at the end of the last tile, or, with damaged_ set, of a damaged one.
bool TileDecoder::next_block(TileLane& lane) {
  if (++lane.block_in_mcu < block_count_) return open_block(lane);
  if (!finish_mcu(lane)) {
    damaged_ = true;
    return false;
  }
  lane.block_in_mcu = 0;
  if (++lane.column == mcus_across_) {
    lane.column = 0;
    ++lane.row;
  }
  if (++lane.mcu < lane.stop_mcu) return open_block(lane);
  if (!(lane.whole ? lane.in.ended_well() : lane.in.within())) {
    damaged_ = true;
    return false;
  }
  return open_tile(lane);
}

bool TileDecoder::finish_mcu(TileLane& lane) {
  const bool fine = !window_.holds(lane.row, lane.column) || (expected_ ? compare_mcu(lane) : transform_mcu(lane));
  std::memset(lane.blocks, 0, sizeof(lane.blocks[0]) * block_count_);
  return fine;
}

// Transforms one MCU at full size, only to look at its colours.
bool TileDecoder::sample_mcu(const TileLane& lane) {
  uint8_t samples[3][16][32];
  Plane planes[3];
  int block = 0;
  for (int c = 0; c < 3; ++c) {
    const Part& part = parts_[c];
    for (int b = 0; b < part.blocks_x * part.blocks_y; ++b, ++block) {
      uint8_t* place = &samples[c][b / part.blocks_x * 8][b % part.blocks_x * 8];
      if (!idct_two(lane.blocks[block], lane.blocks[block], 1, place, place, sizeof samples[c][0])) return false;
    }
    planes[c] = {samples[c][0], sizeof samples[c][0], {0, 8 * part.blocks_x}, {0, 8 * part.blocks_y}};
  }
  overshoot_sum_ += overshoot(planes, parts_[0].blocks_x, parts_[0].blocks_y);
  ++sampled_mcus_;
  return true;
}

bool TileDecoder::transform_mcu(TileLane& lane) {
  if (reduction_ > 1 && part_count_ == 3 && lane.mcu % kSampledMcus == 0 && !sample_mcu(lane)) return false;
  int block = 0;
  for (int c = 0; c < part_count_; ++c) {
    const Part& part = parts_[c];
    const int count = part.blocks_x * part.blocks_y;
    uint8_t* corner = part.samples + static_cast<size_t>(lane.row - window_.row_start) * part.height() * part.stride +
                      static_cast<size_t>(lane.column - window_.column_start) * part.width();
    const auto place = [&](int b) {
      return corner + (static_cast<size_t>(b / part.blocks_x) * part.stride + b % part.blocks_x) * part.size;
    };
    for (int b = 0; b < count; b += 2) {
      const int other = b + 1 < count ? b + 1 : b;
      if (!idct_two(lane.blocks[block + b], lane.blocks[block + other], part.reduction, place(b), place(other), part.stride)) return false;
    }
    block += count;
  }
  return true;
}

// Blocks that only fill up the last MCU of a row or column may differ: nobody sees them.
bool TileDecoder::compare_mcu(const TileLane& lane) const {
  int block = 0;
  for (int c = 0; c < part_count_; ++c) {
    const Part& part = parts_[c];
    const auto& expected = expected_->components[c];
    for (int by = 0; by < part.blocks_y; ++by)
      for (int bx = 0; bx < part.blocks_x; ++bx, ++block) {
        const int row = lane.row * part.blocks_y + by, column = lane.column * part.blocks_x + bx;
        if (row >= expected.down || column >= expected.across) continue;
        if (std::memcmp(lane.blocks[block], expected.rows[row] + 64 * static_cast<size_t>(column), sizeof lane.blocks[block])) return false;
      }
  }
  return true;
}

namespace {

template <int kCount, typename Between>
int run_plain(Lane* const* lanes, Between& between) {
  return run_lanes<kCount>(lanes, between);
}

#if PENSTOCK_X86
template <int kCount, typename Between>
PENSTOCK_AVX2 int run_bmi(Lane* const* lanes, Between& between) {
  return run_lanes<kCount>(lanes, between);
}
#endif

}  // namespace

template <int kCount>
int TileDecoder::run(TileLane* const* tiles) {
  Lane* lanes[kCount];
  std::copy(tiles, tiles + kCount, lanes);
  const auto between = [&](int i) { return next_block(*tiles[i]); };
#if PENSTOCK_X86
  if (has_avx2()) return run_bmi<kCount>(lanes, between);
#endif
  return run_plain<kCount>(lanes, between);
}

// Decodes the tiles that the window needs, each into its MCUs' places.
bool TileDecoder::run_tiles(Bytes data, const JpegHeader& header) {
  wanted_stop_ = (window_.row_stop - 1) * mcus_across_ + window_.column_stop;
  scan_ = data.subspan(header.scan_offset);
  if (!find_tiles(scan_, header.restart_interval, (wanted_stop_ - 1) / interval_) || !list_wanted()) return false;
  damaged_ = false;
  for (TileLane& lane : lanes_) std::memset(lane.blocks, 0, sizeof lane.blocks);  // an image that ended early left some
  TileLane* active[kLanes];
  int count = 0;
  while (count < kLanes && open_tile(lanes_[count])) {
    active[count] = &lanes_[count];
    ++count;
  }
  // All lanes while there are tiles for all, then those that are left.
  while (count > 0 && !damaged_) {
    const int done = count == 3 ? run<3>(active) : count == 2 ? run<2>(active) : run<1>(active);
    if (done < 0) damaged_ = true;
    else std::copy(active + done + 1, active + count--, active + done);
  }
  return !damaged_;
}

bool TileDecoder::decode(Bytes data, const JpegHeader& header, int reduction, const Range x[3], const Range y[3], Plane planes[3]) {
  expected_ = nullptr;
  reduction_ = reduction;
  overshoot_sum_ = sampled_mcus_ = 0;
  if (!prepare(header)) return false;
  choose_window(x, y);
  lay_planes(x, y, planes);
  return run_tiles(data, header);
}

bool TileDecoder::matches(Bytes data, const JpegHeader& header, const Coefficients& expected) {
  static constexpr std::array<uint16_t, 64> kOnes = [] {
    std::array<uint16_t, 64> ones{};
    ones.fill(1);
    return ones;
  }();
  reduction_ = 1;
  if (!takes(header) || static_cast<int>(expected.components.size()) != header.component_count || !prepare(header)) return false;
  for (int c = 0; c < part_count_; ++c) {
    const auto& component = expected.components[c];
    for (int k = 0; k < 64; ++k)
      if (component.quantizer[kNaturalOrder[k]] != parts_[c].quantizer[k]) return false;
    parts_[c].quantizer = kOnes.data();
    const int rows = total_ / mcus_across_;
    if (divide_up(component.across, parts_[c].blocks_x) != mcus_across_ || divide_up(component.down, parts_[c].blocks_y) != rows) return false;
  }
  window_ = {0, total_ / mcus_across_, 0, mcus_across_};
  expected_ = &expected;
  return run_tiles(data, header);
}

}  // namespace penstock
