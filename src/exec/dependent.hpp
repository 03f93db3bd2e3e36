// Kernels that begin before the one ahead of them in the stream has ended (programmatic dependent launch, compute
// capability 9.0 and newer): they read what was there before, and wait with after_previous() for what that kernel
// writes. What they write comes after it, too. Nothing that they read ahead may be written by the kernel directly
// ahead of them: a setup ends with a wait of the host, or with kernels that are none of these.
#pragma once
#include "exec/exec.hpp"

namespace tessera::device {

// On the device: all that earlier kernels wrote is there, from here on; the kernel after this one, if it is such a
// one, may begin.
HD inline void after_previous()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

#ifdef __CUDACC__
// after_previous() is compiled for every architecture of this build.
constexpr bool dependent_launches()
{
  for (int arch : {__CUDA_ARCH_LIST__})
    if (arch < 900) return false;
  return true;
}

// As launch(), of a kernel all of whose threads call after_previous().
template <class... P, class... A>
void launch_dependent(void (*kernel)(P...), dim3 blocks, dim3 threads, size_t shared, A &&...arguments)
{
  cudaLaunchAttribute early = {};
  early.id                                         = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  launch_with(&early, dependent_launches(), kernel, blocks, threads, shared, std::forward<A>(arguments)...);
}
#endif

} // namespace tessera::device
