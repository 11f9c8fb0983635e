#include "tile_jpeg.hpp"

#include <algorithm>
#include <utility>

#include "jpeg_tiles.hpp"
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

namespace {

// Whether the decoder that will read these tiles finds in them what libjpeg-turbo found in the source.
std::string check_tiles(Bytes tiles, const JpegHeader& source, TurboCoefficients& coefficients) {
  static thread_local TileDecoder decoder;
  JpegHeader header;
  if (std::string why = parse_jpeg(tiles, header); !why.empty()) return "not lossless: " + why;
  if (!TileDecoder::takes(header)) return "unusual sampling (" + header.sampling() + ")";
  if (header.width != source.width || header.height != source.height || header.colour() != source.colour() ||
      header.orientation != source.orientation)
    return "not lossless: the headers differ";
  Coefficients expected;
  for (int c = 0; c < coefficients.components(); ++c) {
    Coefficients::Component component{coefficients.blocks_across(c), coefficients.blocks_down(c), {}, {}};
    for (int row = 0; row < component.down; ++row) component.rows.push_back(coefficients.row(c, row));
    std::copy_n(coefficients.quantizer(c), 64, component.quantizer.begin());
    expected.components.push_back(std::move(component));
  }
  return decoder.matches(tiles, header, expected) ? "" : "not lossless: coefficients differ";
}

}  // namespace

std::string tile_jpeg(Bytes data, std::vector<uint8_t>& out) {
  JpegHeader header;
  if (std::string why = parse_jpeg(data, header); !why.empty()) return "broken: " + why;
  if (header.colour() == JpegHeader::Colour::kFour) return header.odd_colour();
  if (header.precision != 8) return std::to_string(header.precision) + " bits per sample";
  if (!header.fits_into(data.size())) return "broken: more pixels than the data can hold";
  if (static_cast<int64_t>(header.width) * header.height > 500'000'000) return "too large: over 500 million pixels";
  const int mcu_width = header.component_count == 1 ? 8 : 8 * header.max_h();
  const int interval = tile_interval((header.width + mcu_width - 1) / mcu_width);
  TurboCoefficients coefficients;
  if (std::string why = coefficients.read(data); !why.empty()) return "broken: " + why;
  if (std::string why = coefficients.write(interval, out); !why.empty()) return "broken: " + why;
  return check_tiles(out, header, coefficients);
}

}  // namespace penstock
