#include "render.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "crc32c.hpp"

namespace penstock {

namespace {

// How much smaller than the source the output must be, per step of reduction, before reduced decoding is used. Measured
// against Pillow's full decode, see docs/design: from here on the difference stays below what JPEG itself leaves.
constexpr double kReductionMargin = 6.0;

// Colours that lie this far outside 0 … 255 on average are converted before resampling, see chroma.hpp.
constexpr double kMostOvershoot = 0.1;

int choose_reduction(const Region& region, int outputs_x, int outputs_y) {
  const double scale = std::min((region.x1 - region.x0) / outputs_x, (region.y1 - region.y0) / outputs_y);
  int reduction = 1;
  while (reduction < 8 && scale >= kReductionMargin * 2 * reduction) reduction *= 2;
  return reduction;
}

void fill_out(const OutputShape& shape, uint8_t* out) {
  if (!shape.channels_first) {
    std::memset(out, shape.fill, shape.channels * shape.pixels());
    return;
  }
  for (int c = 0; c < shape.channels; ++c) std::memset(out + c * shape.plane_stride, shape.fill, shape.pixels());
}

std::string size_text(int width, int height) { return std::to_string(width) + "x" + std::to_string(height); }

}  // namespace

Outcome Renderer::render(const Source& source, const OutputShape& shape, const Limits& limits, uint8_t* out) {
  if (source.checksum) {
    const uint32_t found = crc32c(source.bytes.data(), source.bytes.size());
    if (found != *source.checksum) {
      char text[64];
      std::snprintf(text, sizeof text, "crc32c got %08x, expected %08x", found, *source.checksum);
      return {Status::kChecksum, text};
    }
  }
  return source.kind == Kind::kJpeg ? render_jpeg(source, shape, limits, out) : render_pixels(source, shape, out);
}

// Weights over stored pixels. Turning is done here: a transposed image exchanges the axes, a mirrored one reverses them.
void Renderer::lay_taps(const Source& source, int width, int height, const OutputShape& shape) {
  const View& view = source.view;
  const Turn& turn = view.turn;
  const int turned_width = turn.transposed ? height : width, turned_height = turn.transposed ? width : height;
  Region r = view.region;
  Clip c = {std::clamp(view.clip.x0, 0, turned_width), std::clamp(view.clip.y0, 0, turned_height),
            std::clamp(view.clip.x1, 0, turned_width), std::clamp(view.clip.y1, 0, turned_height)};
  if (turn.mirrored_x) {
    r = {turned_width - r.x1, r.y0, turned_width - r.x0, r.y1};
    c = {turned_width - c.x1, c.y0, turned_width - c.x0, c.y1};
  }
  if (turn.mirrored_y) {
    r = {r.x0, turned_height - r.y1, r.x1, turned_height - r.y0};
    c = {c.x0, turned_height - c.y1, c.x1, turned_height - c.y0};
  }
  Taps& across = turn.transposed ? taps_y_ : taps_x_;
  Taps& down = turn.transposed ? taps_x_ : taps_y_;
  across.build(shape.width, r.x0, r.x1, {c.x0, c.x1}, turn.mirrored_x != view.flip, turn.mirrored_x, shape.nearest);
  down.build(shape.height, r.y0, r.y1, {c.y0, c.y1}, turn.mirrored_y, turn.mirrored_y, shape.nearest);
}

Outcome Renderer::render_jpeg(const Source& source, const OutputShape& shape, const Limits& limits, uint8_t* out) {
  header_ = JpegHeader{};
  if (std::string why = parse_jpeg(source.bytes, header_); !why.empty() && !header_.frame_marker) return {Status::kBroken, why};
  const int width = header_.width, height = header_.height;
  if (header_.colour() == JpegHeader::Colour::kFour) return {Status::kUnsupported, header_.odd_colour()};
  if (header_.precision != 8) return {Status::kUnsupported, std::to_string(header_.precision) + " bits per sample"};
  if (static_cast<int64_t>(width) * height > limits.max_pixels)
    return {Status::kBroken, "the header says " + size_text(width, height) + " pixels, over the limit of " + std::to_string(limits.max_pixels)};
  if (!header_.fits_into(source.bytes.size())) return {Status::kBroken, "the header says " + size_text(width, height) + " pixels, more than the data can hold"};
  if (source.width && (source.width != width || source.height != height))
    return {Status::kMismatch, "size got " + size_text(width, height) + ", expected " + size_text(source.width, source.height)};
  lay_taps(source, width, height, shape);
  const int reduction = limits.scaling && !shape.nearest ? choose_reduction(source.view.region, shape.width, shape.height) : 1;
  const Range x = taps_x_.used(), y = taps_y_.used();
  if (x.size() == 0 || y.size() == 0) {
    fill_out(shape, out);
    return {};
  }
  if (TileDecoder::takes(header_) && render_tiles(source, header_, shape, reduction, out)) return {};
  return render_turbo(source, shape, reduction, out);
}

bool Renderer::render_tiles(const Source& source, const JpegHeader& header, const OutputShape& shape, int reduction, uint8_t* out) {
  const int parts = header.component_count;
  Range x[3], y[3];
  for (int c = 0; c < parts; ++c) {
    const int kind = c > 0;
    if (c < 2) {
      axis_x_[kind].build(taps_x_, TileDecoder::grid_x(header, c, reduction));
      axis_y_[kind].build(taps_y_, TileDecoder::grid_y(header, c, reduction));
    }
    x[c] = axis_x_[kind].range;
    y[c] = axis_y_[kind].range;
  }
  Plane planes[3];
  if (!tiles_.decode(source.bytes, header, reduction, x, y, planes)) return false;
  const bool transposed = source.view.turn.transposed;
  bool is_one_size = false;  // of luma and chroma
  Model model = parts == 1 ? Model::kGrey : header.colour() == JpegHeader::Colour::kRgb ? Model::kRgb : Model::kYcc;
  if (model == Model::kYcc) {
    const Grid gx = TileDecoder::grid_x(header, 1, reduction), gy = TileDecoder::grid_y(header, 1, reduction);
    // Chroma of the same size is converted first in any case: it costs no more, and spares one rounding. So are images
    // that are only cut: what they show must not depend on where.
    const bool same_size = gx.subsampling == 1 && gy.subsampling == 1, cut = taps_x_.cut && taps_y_.cut;
    bool clipped = false;
    if (reduction > 1)
      clipped = tiles_.sampled_overshoot() > kMostOvershoot;
    else if (!same_size && !cut)
      clipped = overshoot(planes, gx.subsampling, gy.subsampling) > kMostOvershoot;
    if (clipped && reduction > 1) return render_tiles(source, header, shape, 1, out);
    if (same_size || cut || clipped) {
      convert_planes(planes, gx, gy);
      model = Model::kRgb;
      is_one_size = true;
    }
  }
  const Axis* const of_x[2] = {&axis_x_[0], &axis_x_[!is_one_size]};
  const Axis* const of_y[2] = {&axis_y_[0], &axis_y_[!is_one_size]};
  compose(planes, transposed ? of_y : of_x, transposed ? of_x : of_y, model, transposed, shape, out);
  return true;
}

Outcome Renderer::render_turbo(const Source& source, const OutputShape& shape, int reduction, uint8_t* out) {
  turbo_decode(source.bytes, reduction, taps_y_.used(), turbo_);
  if (!turbo_.error.empty()) return {Status::kBroken, turbo_.error};
  if (turbo_.width != (header_.width + reduction - 1) / reduction) return {Status::kBroken, "the data changed while it was decoded"};
  const Grid gx{header_.width, 1, false, reduction}, gy{header_.height, 1, false, reduction};
  render_interleaved(turbo_.pixels, static_cast<size_t>(turbo_.width) * 3, 3, turbo_.rows, gx, gy, source, shape, out);
  if (!turbo_.warning.empty()) return {Status::kWarned, turbo_.warning};
  return {};
}

Outcome Renderer::render_pixels(const Source& source, const OutputShape& shape, uint8_t* out) {
  const size_t stride = static_cast<size_t>(source.width) * shape.channels;
  const size_t expected = stride * source.height;
  if (source.width < 1 || source.height < 1 || source.bytes.size() != expected)
    return {Status::kMismatch, std::to_string(source.bytes.size()) + " bytes of pixels, expected " + std::to_string(expected) + " for " + size_text(source.width, source.height)};
  lay_taps(source, source.width, source.height, shape);
  if (taps_x_.used().size() == 0 || taps_y_.used().size() == 0) {
    fill_out(shape, out);
    return {};
  }
  const Grid gx{source.width, 1, false, 1}, gy{source.height, 1, false, 1};
  render_interleaved(source.bytes.data(), stride, shape.channels, {0, source.height}, gx, gy, source, shape, out);
  return {};
}

void Renderer::render_interleaved(const uint8_t* pixels, size_t stride, int channels, Range rows, const Grid& gx, const Grid& gy,
                                  const Source& source, const OutputShape& shape, uint8_t* out) {
  axis_x_[0].build(taps_x_, gx);
  axis_y_[0].build(taps_y_, gy);
  const Range x = axis_x_[0].range, y = axis_y_[0].range;
  const size_t plane_stride = (static_cast<size_t>(x.size()) + 31) / 32 * 32 + Plane::kSlack;
  Plane planes[3];
  uint8_t* into[3] = {};
  for (int c = 0; c < channels; ++c) {
    into[c] = planes_[c].take(plane_stride * y.size() + Plane::kSlack);
    planes[c] = {into[c], plane_stride, x, y};
  }
  for (int row = 0; row < y.size(); ++row) {
    const uint8_t* line = pixels + static_cast<size_t>(y.start + row - rows.start) * stride + static_cast<size_t>(x.start) * channels;
    const size_t at = plane_stride * row;
    if (channels == 3)
      deinterleave_3(line, x.size(), into[0] + at, into[1] + at, into[2] + at);
    else
      std::memcpy(into[0] + at, line, x.size());
  }
  const bool transposed = source.view.turn.transposed;
  const Axis* const of_x[2] = {&axis_x_[0], &axis_x_[0]};
  const Axis* const of_y[2] = {&axis_y_[0], &axis_y_[0]};
  compose(planes, transposed ? of_y : of_x, transposed ? of_x : of_y, channels == 1 ? Model::kGrey : Model::kRgb, transposed, shape, out);
}

void Renderer::convert_planes(Plane planes[3], const Grid& across, const Grid& down) {
  const Plane luma = planes[0];
  const int width = luma.x.size();
  const size_t stride = (static_cast<size_t>(width) + 31) / 32 * 32 + Plane::kSlack;
  uint8_t* into[3];
  for (int c = 0; c < 3; ++c) into[c] = planes_[c].take(stride * luma.y.size() + Plane::kSlack);
  for (int row = 0; row < luma.y.size(); ++row) {
    const int y = luma.y.start + row;
    const uint8_t* cb = cb_row_.enlarge(planes[1], across, down, y, luma.x.start);
    const uint8_t* cr = cr_row_.enlarge(planes[2], across, down, y, luma.x.start);
    const size_t at = stride * row;
    ycc_to_rgb(luma.at(luma.x.start, y), cb, cr, width, into[0] + at, into[1] + at, into[2] + at);
  }
  for (int c = 0; c < 3; ++c) planes[c] = {into[c], stride, luma.x, luma.y};
}

void Renderer::compose(const Plane planes[3], const Axis* const across[2], const Axis* const down[2], Model model, bool transposed, const OutputShape& shape, uint8_t* out) {
  const size_t pixels = shape.pixels(), stride = shape.width;
  if (model == Model::kGrey) {
    uint8_t* grey = shape.channels_first || shape.channels == 1 ? out : grid_.take(pixels);
    resample(planes[0], *across[0], *down[0], transposed, shape.fill, grey, stride, scratch_);
    if (shape.channels == 1) return;
    if (shape.channels_first) {
      std::memcpy(out + shape.plane_stride, out, pixels);
      std::memcpy(out + 2 * shape.plane_stride, out, pixels);
    } else {
      interleave_3(grey, grey, grey, pixels, out);
    }
    return;
  }
  // Planar RGB goes straight to its place; everything else by way of `grid_`.
  const bool direct = model == Model::kRgb && shape.channels_first;
  uint8_t* grid = direct ? out : grid_.take(6 * pixels);
  const size_t grid_plane = direct ? shape.plane_stride : pixels;
  const bool ycc = model == Model::kYcc;
  for (int c = 0; c < 3; ++c) {
    const uint8_t fill = ycc && c > 0 ? 128 : shape.fill;
    resample(planes[c], *across[c > 0], *down[c > 0], transposed, fill, grid + c * grid_plane, stride, scratch_);
  }
  uint8_t* rgb = grid;
  if (ycc) {
    rgb = shape.channels_first ? out : grid + 3 * pixels;
    const size_t rgb_plane = shape.channels_first ? shape.plane_stride : pixels;
    ycc_to_rgb(grid, grid + pixels, grid + 2 * pixels, pixels, rgb, rgb + rgb_plane, rgb + 2 * rgb_plane);
  }
  if (!shape.channels_first) interleave_3(rgb, rgb + pixels, rgb + 2 * pixels, pixels, out);
}

}  // namespace penstock
