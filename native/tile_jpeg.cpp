#include "tile_jpeg.hpp"

#include <cstdlib>

#include "turbo.hpp"

namespace penstock {

// About four: shorter tiles cost bytes (some 2.5 each), longer ones make a crop decode more than it shows. A divisor of
// the row keeps tiles aligned from row to row, so that a crop's edges fall the same way in each; where a row has none
// nearby, four will do, since a tile may run on into the next row.
int tile_interval(int across) {
  for (int interval : {4, 5, 3, 6})
    if (across % interval == 0) return interval;
  return across < 4 ? across : 4;
}

std::string tile_jpeg(Bytes data, std::vector<uint8_t>& out) {
  JpegHeader header;
  if (std::string why = parse_jpeg(data, header); !why.empty()) return "broken: " + why;
  if (header.colour() == JpegHeader::Colour::kFour) return "four components (CMYK or YCCK)";
  if (header.precision != 8) return std::to_string(header.precision) + " bits per sample";
  if (static_cast<int64_t>(header.width) * header.height > 500'000'000) return "too large: over 500 million pixels";
  const int mcu_width = header.component_count == 1 ? 8 : 8 * header.max_h();
  const int interval = tile_interval((header.width + mcu_width - 1) / mcu_width);
  if (std::string why = turbo_transcode(data, interval, out); !why.empty()) return "broken: " + why;
  if (std::string why = turbo_compare(data, out); !why.empty()) return "not lossless: " + why;
  return "";
}

}  // namespace penstock
