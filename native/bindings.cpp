// The Python face of the native core: checks arguments, releases the GIL, translates. No logic.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <unistd.h>

#include "crc32c.hpp"
#include "pool.hpp"
#include "read.hpp"
#include "render.hpp"
#include "simd.hpp"
#include "tile_jpeg.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace penstock {
namespace {

template <typename T, typename... Shape>
using In = nb::ndarray<const T, nb::numpy, nb::c_contig, nb::device::cpu, Shape...>;
template <typename T, typename... Shape>
using Out = nb::ndarray<T, nb::numpy, nb::c_contig, nb::device::cpu, Shape...>;

// Anything with the buffer protocol, held for as long as this lives.
class View1D {
 public:
  explicit View1D(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~View1D() { PyBuffer_Release(&buffer_); }
  View1D(const View1D&) = delete;
  View1D& operator=(const View1D&) = delete;
  Bytes bytes() const { return {static_cast<const uint8_t*>(buffer_.buf), static_cast<size_t>(buffer_.len)}; }

 private:
  Py_buffer buffer_;
};

void require(bool fact, const char* otherwise) {
  if (!fact) throw std::invalid_argument(otherwise);
}

// Owns a Pool. After a fork the child must not touch the parent's threads and locks, so there it is left as it is.
class PyPool {
 public:
  explicit PyPool(int threads) : process_(getpid()) {
    require(threads >= 0 && threads <= 1024, "threads must be from 0 to 1024");
    pool_ = new Pool(threads);
  }
  ~PyPool() {
    if (getpid() != process_) return;
    nb::gil_scoped_release release;
    delete pool_;
  }
  int threads() const { return pool_->threads(); }
  void close() {
    if (getpid() != process_) return;
    nb::gil_scoped_release release;
    pool_->close();
  }
  Pool& pool() { return *pool_; }

 private:
  Pool* pool_;
  const int process_;
};

nb::list decode_batch(PyPool& self, In<uint8_t, nb::ndim<1>> block, In<int64_t, nb::ndim<1>> offsets,
                      In<int64_t, nb::ndim<1>> lengths, In<uint8_t, nb::ndim<1>> kinds, In<int32_t, nb::shape<-1, 2>> sizes,
                      In<double, nb::shape<-1, 4>> regions, In<int32_t, nb::shape<-1, 4>> clips,
                      In<uint8_t, nb::ndim<1>> flips, Out<uint8_t> out,
                      std::optional<In<uint32_t, nb::ndim<1>>> checksums,
                      std::optional<In<uint8_t, nb::ndim<1>>> orientations, bool channels_first, bool nearest, int fill,
                      int64_t max_pixels, bool scaling) {
  const size_t n = offsets.shape(0);
  require(lengths.shape(0) == n && kinds.shape(0) == n && sizes.shape(0) == n && regions.shape(0) == n && clips.shape(0) == n &&
              flips.shape(0) == n && (!checksums || checksums->shape(0) == n) && (!orientations || orientations->shape(0) == n),
          "all arrays must have one entry per sample");
  // A batch of clips, [clips, C, frames, H, W]: sample i is frame i % frames of clip i / frames.
  const bool of_clips = out.ndim() == 5;
  require(out.ndim() == 4 || (of_clips && channels_first), "out must have 4 dimensions, or 5 with the channels first");
  const size_t frames = of_clips ? out.shape(2) : 1;
  require(frames >= 1 && out.shape(0) * frames >= n, "out must have a slot for every sample");
  const auto side = [&](int i) { return static_cast<int>(out.shape(i)); };
  const int down = of_clips ? 3 : channels_first ? 2 : 1;
  OutputShape shape{side(channels_first ? 1 : 3), side(down), side(down + 1), channels_first, nearest, static_cast<uint8_t>(fill), 0};
  shape.plane_stride = frames * shape.pixels();
  const auto slot = [&](size_t i) { return out.data() + (i / frames * shape.channels * frames + i % frames) * shape.pixels(); };
  require(fill >= 0 && fill <= 255, "fill must be from 0 to 255");
  require(max_pixels > 0, "max_pixels must be positive");
  require(shape.channels == 3 || shape.channels == 1, "out must have 3 channels or 1");
  require(shape.width >= 1 && shape.height >= 1 && shape.width <= 65535 && shape.height <= 65535, "out must be from 1 to 65535 pixels each way");
  const Limits limits{max_pixels, scaling};
  const int64_t block_size = static_cast<int64_t>(block.shape(0));
  // All that is asked for is copied before the GIL is released: another thread may write into these arrays afterwards.
  std::vector<Source> sources(n);
  std::vector<Outcome> outcomes(n);
  for (size_t i = 0; i < n; ++i) {
    const uint8_t kind = kinds.data()[i];
    sources[i].kind = static_cast<Kind>(kind);
    if (sources[i].kind == Kind::kAbsent) continue;
    require(kind <= 1, "kinds must be JPEG, PIXELS or ABSENT");
    require(kind == 1 || shape.channels == 3, "a JPEG needs 3 output channels");
    const uint8_t orientation = orientations ? orientations->data()[i] : 1;
    require(orientation >= 1 && orientation <= 8, "orientations must be from 1 to 8");
    const int64_t at = offsets.data()[i], length = lengths.data()[i];
    require(at >= 0 && length >= 0 && at <= block_size && length <= block_size - at, "a sample's bytes lie outside the block");
    const double* r = regions.data() + 4 * i;
    const Region region{r[0], r[1], r[2], r[3]};
    require(region.x1 > region.x0 && region.y1 > region.y0 && region.x0 > -1e6 && region.y0 > -1e6 && region.x1 < 1e6 && region.y1 < 1e6,
            "regions must have x0 < x1 and y0 < y1, within a million pixels");
    const int32_t* c = clips.data() + 4 * i;
    const int32_t* size = sizes.data() + 2 * i;
    sources[i].bytes = Bytes(block.data() + at, static_cast<size_t>(length));
    sources[i].width = size[0];
    sources[i].height = size[1];
    sources[i].view = View{region, {c[0], c[1], c[2], c[3]}, Turn::from_exif(orientation), flips.data()[i] != 0};
    if (checksums) sources[i].checksum = checksums->data()[i];
  }
  bool ran;
  {
    nb::gil_scoped_release release;
    const std::function<void(size_t)> item = [&](size_t i) {
      static thread_local Renderer renderer;
      if (sources[i].kind == Kind::kAbsent) return;
      try {
        outcomes[i] = renderer.render(sources[i], shape, limits, slot(i));
      } catch (const std::exception&) {
        outcomes[i].status = Status::kBroken;  // out of memory: there may be none for words either
      }
    };
    ran = self.pool().run(n, item);
  }
  if (!ran) throw std::runtime_error("the pool is closed, or was made before this process was forked; make a new one");
  nb::list list;
  for (size_t i = 0; i < n; ++i) {
    const auto& [status, message] = outcomes[i];
    if (status == Status::kFine) continue;
    list.append(nb::make_tuple(i, static_cast<int>(status), message.empty() ? "out of memory" : message.c_str()));
  }
  return list;
}

nb::dict probe(nb::handle data) {
  const View1D view(data);
  JpegHeader header;
  std::string why;
  {
    nb::gil_scoped_release release;
    why = parse_jpeg(view.bytes(), header);
  }
  if (!header.frame_marker) throw nb::value_error(why.empty() ? "no frame header" : why.c_str());
  nb::dict info;
  info["width"] = header.width;
  info["height"] = header.height;
  info["components"] = header.component_count;
  info["precision"] = header.precision;
  info["process"] = header.process();
  info["sampling"] = header.sampling();
  info["restart_interval"] = header.restart_interval;
  info["orientation"] = header.orientation;
  return info;
}

nb::tuple tile(nb::handle data) {
  const View1D view(data);
  std::vector<uint8_t> out;
  std::string why;
  {
    nb::gil_scoped_release release;
    why = tile_jpeg(view.bytes(), out);
  }
  const Bytes result = why.empty() ? Bytes(out) : view.bytes();
  return nb::make_tuple(nb::bytes(reinterpret_cast<const char*>(result.data()), result.size()), why.empty() ? std::string("tiled") : why);
}

uint32_t checksum(nb::handle data, uint32_t value) {
  const View1D view(data);
  nb::gil_scoped_release release;
  return crc32c(view.bytes().data(), view.bytes().size(), value);
}

nb::list read(nb::sequence paths, In<int32_t, nb::ndim<1>> files, In<int64_t, nb::ndim<1>> offsets, In<int64_t, nb::ndim<1>> lengths,
              Out<uint8_t, nb::ndim<1>> block, In<int64_t, nb::ndim<1>> positions, In<uint8_t, nb::ndim<1>> ways) {
  const size_t n = files.shape(0);
  require(offsets.shape(0) == n && lengths.shape(0) == n && positions.shape(0) == n && ways.shape(0) == n, "all arrays must have one entry per range");
  const int64_t path_count = static_cast<int64_t>(nb::len(paths)), block_size = static_cast<int64_t>(block.shape(0));
  std::vector<ReadRequest> requests(n);
  int32_t last = -1;
  std::vector<nb::object> keep;
  for (size_t i = 0; i < n; ++i) {
    const int32_t file = files.data()[i];
    const int64_t offset = offsets.data()[i], length = lengths.data()[i], position = positions.data()[i];
    require(file >= 0 && file < path_count, "a range names a file that is not in paths");
    require(offset >= 0 && length >= 0, "a range has a negative offset or length");
    require(position >= 0 && position <= block_size && length <= block_size - position, "a range does not fit into the block");
    require(ways.data()[i] <= static_cast<uint8_t>(Way::kDirect), "there is no such way to read");
    if (file != last) {
      keep.push_back(paths[file]);
      require(PyBytes_Check(keep.back().ptr()), "paths must be bytes");
      last = file;
    }
    requests[i] = {PyBytes_AS_STRING(keep.back().ptr()), offset, length, static_cast<Way>(ways.data()[i]), block.data() + position};
  }
  std::vector<ReadFailure> failures;
  {
    nb::gil_scoped_release release;
    failures = read_ranges(requests);
  }
  nb::list list;
  for (const auto& failure : failures) list.append(nb::make_tuple(failure.request, failure.error, failure.got));
  return list;
}

}  // namespace

NB_MODULE(_native, module) {
  nb::set_leak_warnings(false);  // a process that ends with a loader alive, or after a fork, is nothing to warn about
  module.attr("JPEG") = static_cast<int>(Kind::kJpeg);
  module.attr("PIXELS") = static_cast<int>(Kind::kPixels);
  module.attr("ABSENT") = static_cast<int>(Kind::kAbsent);
  module.attr("WARNED") = static_cast<int>(Status::kWarned);
  module.attr("BROKEN") = static_cast<int>(Status::kBroken);
  module.attr("UNSUPPORTED") = static_cast<int>(Status::kUnsupported);
  module.attr("CHECKSUM") = static_cast<int>(Status::kChecksum);
  module.attr("MISMATCH") = static_cast<int>(Status::kMismatch);
  module.attr("SIMD") = simd_name();
  nb::class_<PyPool>(module, "Pool")
      .def(nb::init<int>(), "threads"_a)
      .def_prop_ro("threads", &PyPool::threads)
      .def("close", &PyPool::close)
      .def("decode_batch", &decode_batch, "block"_a.noconvert(), "offsets"_a, "lengths"_a, "kinds"_a, "sizes"_a, "regions"_a, "clips"_a, "flips"_a,
           "out"_a.noconvert(), nb::kw_only(), "checksums"_a = nb::none(), "orientations"_a = nb::none(), "channels_first"_a = true,
           "nearest"_a = false, "fill"_a = 0, "max_pixels"_a = 178956970, "scaling"_a = true);
  module.def("probe", &probe, "data"_a);
  module.def("tile_jpeg", &tile, "data"_a);
  module.def("crc32c", &checksum, "data"_a, "value"_a = 0);
  module.attr("ORDINARY") = static_cast<int>(Way::kOrdinary);
  module.attr("EXACT") = static_cast<int>(Way::kExact);
  module.attr("GENEROUS") = static_cast<int>(Way::kGenerous);
  module.attr("DIRECT") = static_cast<int>(Way::kDirect);
  module.def("read_ranges", &read, "paths"_a, "files"_a, "offsets"_a, "lengths"_a, "block"_a.noconvert(), "positions"_a, "ways"_a);
}

}  // namespace penstock
