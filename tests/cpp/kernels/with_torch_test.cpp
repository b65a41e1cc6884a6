// A kernel as Inductor writes it (torch 2.13, shortened to one loop nest), against torch's headers
// and libtorch_cpu.
#include <doctest/doctest.h>

#include <cmath>

#include "kernels/inductor_cpp/cpu_features.h"
#include "kernels/kernels_fixture.h"

using namespace fuseproof;
using namespace fuseproof::test;

namespace {

const std::string kGelu = kPrefix + R"(extern "C"  void  kernel(const float* in_ptr0,
                       float* out_ptr0)
{
    #pragma omp parallel
    {
        #pragma omp for
        for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(256L); x0+=static_cast<int64_t>(8L))
        {
            auto tmp0 = at::vec::Vectorized<float>::loadu(in_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(8));
            auto tmp1 = at::vec::Vectorized<float>(static_cast<float>(0.5));
            auto tmp2 = tmp0 * tmp1;
            auto tmp3 = at::vec::Vectorized<float>(static_cast<float>(0.7071067811865476));
            auto tmp4 = (tmp0 * tmp3).erf();
            auto tmp5 = tmp2 * (tmp4 + at::vec::Vectorized<float>(static_cast<float>(1.0)));
            auto tmp6 = tmp5 + tmp0.sin();
            tmp6.store(out_ptr0 + static_cast<int64_t>(x0), static_cast<int64_t>(8));
        }
    }
}
)";

// Inductor's own for a machine with AVX2: vectors of eight floats.
BuildRecipe avx2_recipe() {
  return {.compiler = "g++",
          .compiler_version = "",
          .standard = "c++20",
          .flags = {"O3",
                    "DNDEBUG",
                    "fno-omit-frame-pointer",
                    "g1",
                    "fno-trapping-math",
                    "funsafe-math-optimizations",
                    "ffinite-math-only",
                    "fno-signed-zeros",
                    "fno-finite-math-only",
                    "fno-unsafe-math-optimizations",
                    "fmath-errno",
                    "ffp-contract=off",
                    "fexcess-precision=fast",
                    "fno-tree-loop-vectorize",
                    "march=native",
                    "shared",
                    "fPIC",
                    "Wall",
                    "Wno-unused-variable",
                    "Wno-unknown-pragmas",
                    "pedantic",
                    "fopenmp",
                    "mavx2",
                    "mfma",
                    "mf16c"},
          .defines = {"TORCH_INDUCTOR_CPP_WRAPPER", "STANDALONE_TORCH_HEADER",
                      " C10_USING_CUSTOM_GENERATED_MACROS", "CPU_CAPABILITY_AVX2"},
          .libraries = {"torch", "torch_cpu", "torch_python", "gomp"}};
}

}  // namespace

TEST_CASE_FIXTURE(Workshop,
                  "a kernel of Inductor's is rebuilt, finds Sleef in libtorch_cpu, and is right") {
  if (missing_cpu_feature(avx2_recipe().flags)) {
    MESSAGE("skipped: the kernel needs AVX2 and FMA, which this CPU lacks");
    return;
  }
  InductorCppOptions options = runner_options();
  options.builder.torch = {.include = Path(FUSEPROOF_TEST_TORCH) / "include",
                           .lib = Path(FUSEPROOF_TEST_TORCH) / "lib"};
  SiteBundle site = make_site(kGelu);
  site.spec.arguments.resize(2);
  site.spec.artifact.recipe = avx2_recipe();
  CallRecord call = make_call();
  call.arguments.resize(2);
  call.threads = 2;

  const StorageRequest storages[] = {{.size_bytes = 1024}, {.size_bytes = 1024}};
  Arena arena = Arena::create(storages);
  std::vector<float> input;
  for (int i = 0; i < 256; ++i) input.push_back(static_cast<float>(i - 128) / 32.0f);
  std::memcpy(arena.storage(0).data(), input.data(), 1024);

  InductorCppRunner runner(real_file_system(), options);
  const KernelRun run = runner.run(site, call, arena, {});
  REQUIRE_MESSAGE(run.outcome == KernelOutcome::kReturned, run.message);
  CHECK(run.guard_hits.empty());
  const std::vector<float> output = floats(arena, 1);
  for (std::size_t i = 0; i < 256; ++i) {
    const double x = input[i];
    const double expected = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))) + std::sin(x);
    // Four roundings to float and Sleef's 1 ULP each.
    CHECK(std::fabs(output[i] - expected) <= 1e-6 * (1 + std::fabs(x)));
  }
}
