// Kernels for the tests of the sandbox. Each is an entry of one shared object.
#include <omp.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

// As in an object that Inductor built: data of Python's, resolved when the object is loaded, and a
// function of Python's, resolved when it is called (never).
extern "C" char _Py_NoneStruct[];
extern "C" void* PyExc_RuntimeError;
extern "C" char PyTuple_Type[];
extern "C" void PyErr_SetString(void*, const char*);
extern "C" void symbol_that_nobody_defines();

namespace {
// The compiler must not see through it.
template <typename T>
T opaque(T value) {
  asm volatile("" : "+r"(value));
  return value;
}
}  // namespace

extern "C" {

void* python_binding() {
  PyErr_SetString(PyExc_RuntimeError, "never called");
  symbol_that_nobody_defines();
  return opaque(false) ? static_cast<void*>(PyTuple_Type) : static_cast<void*>(_Py_NoneStruct);
}

void double_it(float* data) {
  for (int i = 0; i < 8; ++i) data[i] *= 2;
}

void seven(const float* a, std::int64_t n, float f, double d, const float* b, std::int64_t negative,
           double* out) {
  out[0] = a[0] + b[1];
  out[1] = static_cast<double>(n);
  out[2] = f;
  out[3] = d;
  out[4] = static_cast<double>(negative);
}

#define INTEGERS(p)                                                                              \
  std::int64_t p##0, std::int64_t p##1, std::int64_t p##2, std::int64_t p##3, std::int64_t p##4, \
      std::int64_t p##5, std::int64_t p##6, std::int64_t p##7, std::int64_t p##8,                \
      std::int64_t p##9
#define DOUBLES(p)                                                                        \
  double p##0, float p##1, double p##2, float p##3, double p##4, float p##5, double p##6, \
      float p##7, double p##8, float p##9
// 10 integers, 10 floats and doubles, 10 more of each kind but the last: 40 with the output.
void forty(INTEGERS(i), DOUBLES(x), INTEGERS(j), double y0, float y1, double y2, float y3,
           double y4, float y5, double y6, float y7, double y8, double* out) {
  const double values[] = {static_cast<double>(i0),
                           static_cast<double>(i1),
                           static_cast<double>(i2),
                           static_cast<double>(i3),
                           static_cast<double>(i4),
                           static_cast<double>(i5),
                           static_cast<double>(i6),
                           static_cast<double>(i7),
                           static_cast<double>(i8),
                           static_cast<double>(i9),
                           x0,
                           x1,
                           x2,
                           x3,
                           x4,
                           x5,
                           x6,
                           x7,
                           x8,
                           x9,
                           static_cast<double>(j0),
                           static_cast<double>(j1),
                           static_cast<double>(j2),
                           static_cast<double>(j3),
                           static_cast<double>(j4),
                           static_cast<double>(j5),
                           static_cast<double>(j6),
                           static_cast<double>(j7),
                           static_cast<double>(j8),
                           static_cast<double>(j9),
                           y0,
                           y1,
                           y2,
                           y3,
                           y4,
                           y5,
                           y6,
                           y7,
                           y8};
  std::memcpy(out, values, sizeof(values));
}

// Element `index` of `data`, in elements of float.
void write_at(float* data, std::int64_t index) { data[index] = 1; }
void write_at_then_crash(float* data, std::int64_t index) {
  data[index] = 1;
  *opaque(static_cast<volatile float*>(nullptr)) = 1;
}
void read_at(const float* data, std::int64_t index, float* out) {
  out[0] = static_cast<const volatile float*>(data)[index];
  out[1] = 7;
}
void read_then_write_at(float* data, std::int64_t index) {
  const float before = static_cast<const volatile float*>(data)[index];
  static_cast<volatile float*>(data)[index] = before + 1;
}
// Every thread of a team writes to the same guard page.
void write_at_in_parallel(float* data, std::int64_t index) {
#pragma omp parallel
  static_cast<volatile float*>(data)[index + omp_get_thread_num()] = 1;
}

void null_dereference(float*) { *opaque(static_cast<volatile float*>(nullptr)) = 1; }
void stack_overflow(float* data) {
  volatile char frame[4096];
  frame[0] = 1;
  stack_overflow(data);
  frame[1] = 2;
}
void divide_by_zero(std::int64_t* data) {
  data[0] = opaque(std::int64_t{1}) / opaque(std::int64_t{0});
}
void abort_here(float*) {
  std::fputs("said before the end", stderr);
  std::abort();
}
void free_twice(float*) {
  char* block = opaque(static_cast<char*>(std::malloc(2000)));
  char* keep = opaque(static_cast<char*>(std::malloc(2000)));
  std::free(block);
  std::free(opaque(block));
  std::free(keep);
}
void exit_with_zero(float*) { std::exit(0); }
void quick_exit_with_three(float*) { _exit(3); }
void raise_segv(float*) { std::raise(SIGSEGV); }
void spin(float*) {
  for (std::uint64_t i = 0;; ++i) i = opaque(i);
}
void sleep_long(float*) {
  for (;;) pause();
}
void fork_and_sleep(std::int64_t* data) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  data[0] = child;
}

void throw_out_of_range(float*) { throw std::out_of_range("index 9 of 4"); }
void throw_int(float*) { throw 42; }
void throw_long_text(float*) { throw std::runtime_error(std::string(20000, 'x')); }

void team_size(std::int64_t* out) {
  int size = 0;
  std::int64_t sum = 0;
#pragma omp parallel reduction(+ : sum)
  {
    sum += omp_get_thread_num();
#pragma omp single
    size = omp_get_num_threads();
  }
  out[0] = size;
  out[1] = sum;
}
void team_of_three(std::int64_t* out) {
#pragma omp parallel num_threads(3)
#pragma omp single
  out[0] = omp_get_num_threads();
}

void allocate(std::int64_t* out, std::int64_t bytes) {
  std::vector<char> block(static_cast<std::size_t>(bytes));
  out[0] = opaque(block.data())[0] + 1;
}

void leave_flush_to_zero_on(float*) { _mm_setcsr(_mm_getcsr() | 0x8000); }
// The smallest normal float times a half: a subnormal, or zero where those are flushed.
void make_subnormal(float* out) {
  const float smallest = opaque(1.17549435e-38f);
  out[0] = smallest * opaque(0.5f);
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) out[1] = smallest * opaque(0.5f);
}

void write_much_to_stderr(float* data) {
  for (int i = 0; i < 400000; ++i) std::fputs("0123456789", stderr);
  std::fputs("the end", stderr);
  data[0] = 5;
}

}  // extern "C"
