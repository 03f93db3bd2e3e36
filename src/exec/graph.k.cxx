#include "exec/graph.hpp"
#include "exec/exec.hpp"
#include <cstdlib>

namespace tessera {

#if defined(__CUDACC__)

struct Graph::Parts {
  cudaGraphExec_t    exec     = nullptr;
  cudaStream_t       capture  = nullptr; // the program's may be the default stream, which cannot record
  void              *stream   = nullptr;
  uint64_t           key      = 0;
  unsigned long long memory   = 0;
  bool               recorded = false, recording = false;
  ~Parts()
  {
    if (exec) (void)cudaGraphExecDestroy(exec);
    if (capture) (void)cudaStreamDestroy(capture);
  }
};

// Who sets CUDA's variable wants one kernel at a time. On a device that has failed nothing is launched at all.
static bool one_by_one()
{
  static const char *const v = getenv("CUDA_LAUNCH_BLOCKING");
  return (v && *v && *v != '0') || device::failed();
}

bool Graph::begin(uint64_t key, size_t scratch)
{
  if (!parts_) parts_ = std::make_unique<Parts>();
  Parts &p = *parts_;
  (void)device::scratch(scratch);
  if (one_by_one()) return true;
  if (p.recorded && p.key == key && p.memory == device::allocated()) return false;
  p.recorded = false;
  p.key      = key;
  p.stream   = device::stream();
  if (!p.capture) device::check(cudaStreamCreateWithFlags(&p.capture, cudaStreamNonBlocking));
  device::set_stream(p.capture);
  if (device::failed()) { // what was under way there
    device::go_back_to(p.stream);
    return true;
  }
  const cudaError_t e = cudaStreamBeginCapture(p.capture, cudaStreamCaptureModeThreadLocal);
  p.recording         = e == cudaSuccess;
  if (!p.recording) device::go_back_to(p.stream);
  device::check(e);
  return true;
}

void Graph::abandon()
{
  cudaGraph_t g = nullptr;
  if (!parts_->recording) return;
  parts_->recording = false;
  (void)cudaStreamEndCapture(parts_->capture, &g);
  if (g) (void)cudaGraphDestroy(g);
  (void)cudaGetLastError();
  device::go_back_to(parts_->stream); // an error is on its way already: no other one
}

void Graph::end()
{
  Parts &p = *parts_;
  struct Recorded { // goes in any case
    cudaGraph_t g = nullptr;
    ~Recorded()
    {
      if (g) (void)cudaGraphDestroy(g);
    }
  } recorded;
  cudaGraphExecUpdateResultInfo info;
  if (!p.recording) return;
  p.recording         = false;
  const cudaError_t e = cudaStreamEndCapture(p.capture, &recorded.g);
  device::go_back_to(p.stream);
  device::check(e);
  if (device::failed()) return;
  if (p.exec && cudaGraphExecUpdate(p.exec, recorded.g, &info) != cudaSuccess) { // it is of another shape
    (void)cudaGetLastError();
    (void)cudaGraphExecDestroy(p.exec);
    p.exec = nullptr;
  }
  const cudaError_t made = p.exec ? cudaSuccess : cudaGraphInstantiate(&p.exec, recorded.g, 0);
  device::check(made);
  p.recorded = made == cudaSuccess;
  p.memory   = device::allocated();
}

void Graph::launch()
{
  if (parts_->recorded && !one_by_one()) device::check(cudaGraphLaunch(parts_->exec, (cudaStream_t)device::stream()));
}

#elif defined(TESSERA_EMULATE_DEVICE)

struct Graph::Parts {
  std::unique_ptr<device::Recording> recording;
};
bool Graph::begin(uint64_t, size_t scratch)
{
  if (!parts_) parts_ = std::make_unique<Parts>();
  (void)device::scratch(scratch);
  parts_->recording = std::make_unique<device::Recording>();
  return true;
}
void Graph::abandon() { parts_->recording.reset(); }
void Graph::end() { parts_->recording.reset(); }
void Graph::launch() { }

#else

struct Graph::Parts { };
bool Graph::begin(uint64_t, size_t) { return true; }
void Graph::abandon() { }
void Graph::end() { }
void Graph::launch() { }

#endif

Graph::Graph()                            = default;
Graph::~Graph()                           = default;
Graph::Graph(Graph &&) noexcept            = default;
Graph &Graph::operator=(Graph &&) noexcept = default;

} // namespace tessera
