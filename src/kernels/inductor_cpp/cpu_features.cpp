#include "kernels/inductor_cpp/cpu_features.h"

#include <map>

namespace fuseproof {

std::optional<std::string> missing_cpu_feature(const std::vector<std::string>& flags) {
#if defined(__x86_64__)
  // Sets that Inductor's vector code names; the compiler's builtin takes literals only.
  const std::map<std::string, bool> supported = {
      {"mavx", __builtin_cpu_supports("avx") != 0},
      {"mavx2", __builtin_cpu_supports("avx2") != 0},
      {"mfma", __builtin_cpu_supports("fma") != 0},
      {"mavx512f", __builtin_cpu_supports("avx512f") != 0},
      {"mavx512dq", __builtin_cpu_supports("avx512dq") != 0},
      {"mavx512vl", __builtin_cpu_supports("avx512vl") != 0},
      {"mavx512bw", __builtin_cpu_supports("avx512bw") != 0},
      {"mavx512vnni", __builtin_cpu_supports("avx512vnni") != 0},
      {"mavx512bf16", __builtin_cpu_supports("avx512bf16") != 0},
  };
  for (const std::string& flag : flags) {
    const auto entry = supported.find(flag);
    if (entry != supported.end() && !entry->second) return flag;
  }
#else
  static_cast<void>(flags);
#endif
  return std::nullopt;
}

}  // namespace fuseproof
