// jit.cu -- how long do the steps of run-time compilation take on this machine?
// Build: nvcc -O2 -std=c++17 -arch=sm_90 -o jit jit.cu -ldl
// Run:   CUDA_CACHE_DISABLE=1 ./jit [cuda_include_dir]     (sets CUDA_CACHE_DISABLE itself too)
// JSON lines. With no GPU it still times NVRTC (and nvcc/ptxas, if on PATH).
// libnvrtc is loaded with dlopen: NVRTC_SO may name it. CUDA headers (for the cub kernel): argument, $CUDA_HOME/include, or beside nvcc.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
#include <algorithm>
#include <chrono>
#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>
#include <cuda.h>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(e_)); exit(2); } } while (0)
#define DCK(x) do { CUresult e_ = (x); if (e_ != CUDA_SUCCESS) { fprintf(stderr, "%s:%d: %s: CUresult %d\n", __FILE__, __LINE__, #x, (int)e_); exit(2); } } while (0)
#define NCK(x) do { int e_ = (x); if (e_) { fprintf(stderr, "%s:%d: %s: nvrtc %d\n", __FILE__, __LINE__, #x, e_); exit(2); } } while (0)
static double now() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
static double med(std::vector<double> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }

typedef void* Prog;
static int (*nCreate)(Prog*, const char*, const char*, int, const char* const*, const char* const*);
static int (*nCompile)(Prog, int, const char* const*); static int (*nDestroy)(Prog*);
static int (*nPTXSize)(Prog, size_t*); static int (*nPTX)(Prog, char*); static int (*nCubinSize)(Prog, size_t*); static int (*nCubin)(Prog, char*);
static int (*nLogSize)(Prog, size_t*); static int (*nLog)(Prog, char*); static int (*nVersion)(int*, int*);
static CUresult (*dLoad)(CUmodule*, const void*); static CUresult (*dUnload)(CUmodule); static CUresult (*dGetF)(CUfunction*, CUmodule, const char*);
static CUresult (*dLaunch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void**, void**);
static CUresult (*dLinkCreate)(unsigned, CUjit_option*, void**, CUlinkState*); static CUresult (*dLinkAdd)(CUlinkState, CUjitInputType, void*, size_t, const char*, unsigned, CUjit_option*, void**);
static CUresult (*dLinkComplete)(CUlinkState, void**, size_t*); static CUresult (*dLinkDestroy)(CUlinkState);

static const char* SAXPY = R"(extern "C" __global__ void k(float a, const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i] + y[i]; })";
static const char* BS = R"(
__device__ float cnd(float d) { const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
  float k = 1.0f / (1.0f + 0.2316419f * fabsf(d)); float c = 0.39894228f * expf(-0.5f * d * d) * (k * (A1 + k * (A2 + k * (A3 + k * (A4 + k * A5))))); return d > 0 ? 1.0f - c : c; }
extern "C" __global__ void k(const float* S, const float* X, const float* T, float* C, float* P, float R, float V, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  float s = S[i], x = X[i], t = T[i], q = sqrtf(t), d1 = (logf(s / x) + (R + 0.5f * V * V) * t) / (V * q), d2 = d1 - V * q, e = x * expf(-R * t), n1 = cnd(d1), n2 = cnd(d2);
  C[i] = s * n1 - e * n2; P[i] = e * (1.0f - n2) - s * (1.0f - n1); })";
static const char* SHRED = R"(
extern "C" __global__ void k(const float* x, float* o, int n) { __shared__ float sh[32]; float v = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  for (int s = 16; s; s >>= 1) v += __shfl_down_sync(~0u, v, s); if (!(threadIdx.x & 31)) sh[threadIdx.x >> 5] = v; __syncthreads();
  if (threadIdx.x < 32) { v = threadIdx.x < blockDim.x / 32 ? sh[threadIdx.x] : 0; for (int s = 16; s; s >>= 1) v += __shfl_down_sync(~0u, v, s); if (!threadIdx.x) atomicAdd(o, v); } })";
static const char* CUBRED = R"(
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void k(const float* x, float* o, int n) { typedef cub::BlockReduce<float, 256> BR; __shared__ typename BR::TempStorage t; float v = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  v = BR(t).Sum(v); if (!threadIdx.x) atomicAdd(o, v); })";

static std::vector<std::string> incs;
static std::string compile(const char* src, bool cubin, bool headers, double* ms) {
  std::vector<std::string> o = {cubin ? "--gpu-architecture=sm_90" : "--gpu-architecture=compute_90", "--std=c++17", "-default-device"};
  if (headers) for (auto& i : incs) o.push_back("-I" + i);
  std::vector<const char*> p; for (auto& s : o) p.push_back(s.c_str());
  Prog g; double t = now(); NCK(nCreate(&g, src, "k.cu", 0, nullptr, nullptr)); int r = nCompile(g, (int)p.size(), p.data()); *ms = now() - t;
  if (r) { size_t n; NCK(nLogSize(g, &n)); std::string l(n, 0); NCK(nLog(g, &l[0])); fprintf(stderr, "nvrtc %d: %.1500s\n", r, l.c_str()); NCK(nDestroy(&g)); return ""; }
  size_t n; std::string out; if (cubin) { NCK(nCubinSize(g, &n)); out.resize(n); NCK(nCubin(g, &out[0])); } else { NCK(nPTXSize(g, &n)); out.resize(n); NCK(nPTX(g, &out[0])); }
  NCK(nDestroy(&g)); return out;
}
static void line(const char* k, const char* step, const std::vector<double>& v, size_t bytes, bool ok) {
  printf("{\"name\":\"jit\",\"kernel\":\"%s\",\"step\":\"%s\",\"first_ms\":%.3f,\"median_ms\":%.3f,\"min_ms\":%.3f,\"runs\":%zu,\"bytes\":%zu,\"ok\":%s}\n", k, step, v[0], med(v), *std::min_element(v.begin(), v.end()), v.size(), bytes, ok ? "true" : "false"); fflush(stdout);
}
static void* open_any(const char* env, std::vector<std::string> c) {
  if (getenv(env)) c.insert(c.begin(), getenv(env));
  for (auto& p : c) { glob_t r; std::vector<std::string> q; if (p.find('*') != std::string::npos) { if (!glob(p.c_str(), 0, nullptr, &r)) for (size_t i = 0; i < r.gl_pathc; i++) q.push_back(r.gl_pathv[i]); globfree(&r); } else q.push_back(p);
    for (auto& s : q) if (s.find("alt") == std::string::npos) if (void* L = dlopen(s.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
      size_t k = s.rfind('/'); glob_t b; if (k != std::string::npos && !glob((s.substr(0, k) + "/libnvrtc-builtins.so.*").c_str(), 0, nullptr, &b)) { for (size_t i = 0; i < b.gl_pathc; i++) dlopen(b.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL); globfree(&b); }
      printf("{\"note\":\"loaded %s\"}\n", s.c_str()); return L; } }
  return nullptr;
}
// does module data `d` hold a working saxpy? (y = 2x + y on 1000 elements)
static bool saxpy_works(const void* d) {
  CUmodule m; DCK(dLoad(&m, d)); CUfunction f; DCK(dGetF(&f, m, "k")); int n = 1000; std::vector<float> x(n), y(n); for (int i = 0; i < n; i++) { x[i] = i; y[i] = 3 * i + 1; }
  float *dx, *dy, a = 2; CK(cudaMalloc(&dx, n * 4)); CK(cudaMalloc(&dy, n * 4)); CK(cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice)); CK(cudaMemcpy(dy, y.data(), n * 4, cudaMemcpyHostToDevice));
  void* ar[] = {&a, &dx, &dy, &n}; DCK(dLaunch(f, 4, 1, 1, 256, 1, 1, 0, 0, ar, nullptr)); CK(cudaDeviceSynchronize()); CK(cudaMemcpy(y.data(), dy, n * 4, cudaMemcpyDeviceToHost));
  CK(cudaFree(dx)); CK(cudaFree(dy)); DCK(dUnload(m)); for (int i = 0; i < n; i++) if (y[i] != 5.0f * i + 1) return false; return true;
}
int main(int argc, char** argv) {
  setenv("CUDA_CACHE_DISABLE", "1", 1); setvbuf(stdout, nullptr, _IOLBF, 0);
  std::string home; if (getenv("CUDA_HOME")) home = getenv("CUDA_HOME");
  if (home.empty()) { FILE* p = popen("command -v nvcc", "r"); char b[4096] = {0}; if (p) { if (fgets(b, sizeof b, p)) { char rp[4096]; b[strcspn(b, "\n")] = 0; if (realpath(b, rp)) { home = rp; home = home.substr(0, home.rfind("/bin/")); } } pclose(p); } }
  if (home.empty()) home = "/usr/local/cuda";
  std::string inc = argc > 1 ? argv[1] : home + "/include";
  for (auto d : {inc + "/cccl", home + "/targets/x86_64-linux/include/cccl", home + "/targets/x86_64-linux/include", inc}) if (!access(d.c_str(), R_OK)) incs.push_back(d);
  void* L = open_any("NVRTC_SO", {home + "/lib64/libnvrtc.so.13", home + "/lib/libnvrtc.so.13", home + "/targets/x86_64-linux/lib/libnvrtc.so.1*", "libnvrtc.so.13", "/usr/local/cuda*/lib64/libnvrtc.so.1*", "libnvrtc.so.12", "libnvrtc.so"});
  if (!L) { fprintf(stderr, "no libnvrtc; set NVRTC_SO\n"); return 2; }
#define SY(f, n) if (!((*(void**)&f) = dlsym(L, n))) { fprintf(stderr, "no symbol %s\n", n); return 2; }
  SY(nCreate, "nvrtcCreateProgram") SY(nCompile, "nvrtcCompileProgram") SY(nDestroy, "nvrtcDestroyProgram") SY(nPTXSize, "nvrtcGetPTXSize") SY(nPTX, "nvrtcGetPTX") SY(nCubinSize, "nvrtcGetCUBINSize") SY(nCubin, "nvrtcGetCUBIN") SY(nLogSize, "nvrtcGetProgramLogSize") SY(nLog, "nvrtcGetProgramLog") SY(nVersion, "nvrtcVersion")
  int mj, mn; NCK(nVersion(&mj, &mn)); printf("{\"note\":\"nvrtc %d.%d\",\"cuda_home\":\"%s\"}\n", mj, mn, home.c_str());
  bool gpu = false; void* D = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL); int ndev = 0;
  if (D && cudaGetDeviceCount(&ndev) == cudaSuccess && ndev > 0) {
    double t = now(); CK(cudaSetDevice(0)); CK(cudaFree(0)); printf("{\"name\":\"jit\",\"step\":\"cuda_context_creation\",\"ms\":%.3f}\n", now() - t); gpu = true;
    void* save = L; L = D; SY(dLoad, "cuModuleLoadData") SY(dUnload, "cuModuleUnload") SY(dGetF, "cuModuleGetFunction") SY(dLaunch, "cuLaunchKernel") SY(dLinkCreate, "cuLinkCreate_v2") SY(dLinkAdd, "cuLinkAddData_v2") SY(dLinkComplete, "cuLinkComplete") SY(dLinkDestroy, "cuLinkDestroy") L = save;
  } else printf("{\"note\":\"no GPU: driver steps left out\"}\n");
  struct K { const char* n; const char* s; bool h; } ks[] = {{"saxpy", SAXPY, false}, {"blackscholes", BS, false}, {"reduce_shuffle", SHRED, false}, {"reduce_cub_BlockReduce", CUBRED, true}};
  int bad = 0;
  for (auto& k : ks) {
    std::string ptx, cub; int reps = k.h ? 5 : 15;
    for (int c = 0; c < 2; c++) { std::vector<double> v; std::string o; for (int r = 0; r < reps; r++) { double ms; o = compile(k.s, c, k.h, &ms); if (o.empty()) break; v.push_back(ms); } (c ? cub : ptx) = o; if (o.empty()) { printf("{\"name\":\"jit\",\"kernel\":\"%s\",\"step\":\"nvrtc\",\"ok\":false}\n", k.n); bad++; break; } line(k.n, c ? "nvrtc_to_cubin_sm90" : "nvrtc_to_ptx_compute90", v, o.size(), true); }
    if (ptx.empty() || cub.empty()) continue;
    // vary the PTX text a little each run, so that no cache can answer
    if (gpu) {
      std::vector<double> v, w; for (int r = 0; r < 15; r++) { std::string q = ptx; q = "// " + std::to_string(r) + "\n" + std::string(q.c_str()); CUmodule m; double t = now(); DCK(dLoad(&m, q.c_str())); CUfunction f; DCK(dGetF(&f, m, "k")); v.push_back(now() - t); DCK(dUnload(m)); }
      bool ok = strcmp(k.n, "saxpy") || saxpy_works(ptx.c_str()); bad += !ok; line(k.n, "driver_load_ptx(jit)", v, ptx.size(), ok);
      for (int r = 0; r < 15; r++) { CUmodule m; double t = now(); DCK(dLoad(&m, cub.data())); CUfunction f; DCK(dGetF(&f, m, "k")); w.push_back(now() - t); DCK(dUnload(m)); }
      ok = strcmp(k.n, "saxpy") || saxpy_works(cub.data()); bad += !ok; line(k.n, "driver_load_cubin", w, cub.size(), ok);
      for (int lv = 0; lv <= 4; lv += 2) { v.clear(); for (int r = 0; r < 9; r++) { std::string q = "// " + std::to_string(100 * lv + r) + "\n" + std::string(ptx.c_str()); CUjit_option op[] = {CU_JIT_OPTIMIZATION_LEVEL}; void* ov[] = {(void*)(size_t)lv}; CUlinkState l; void* c; size_t n; double t = now(); DCK(dLinkCreate(1, op, ov, &l)); DCK(dLinkAdd(l, CU_JIT_INPUT_PTX, (void*)q.c_str(), q.size() + 1, "k", 0, nullptr, nullptr)); DCK(dLinkComplete(l, &c, &n)); v.push_back(now() - t); DCK(dLinkDestroy(l)); } line(k.n, lv == 0 ? "driver_link_ptx_to_cubin_O0" : lv == 2 ? "driver_link_ptx_to_cubin_O2" : "driver_link_ptx_to_cubin_O4", v, ptx.size(), true); }
    }
    // the offline tools, as processes
    char dir[] = "/tmp/jitXXXXXX"; if (!mkdtemp(dir)) continue; std::string d = dir; auto put = [&](std::string f, const std::string& s) { FILE* o = fopen((d + f).c_str(), "w"); if (o) { fwrite(s.data(), 1, s.size(), o); fclose(o); } };
    put("/k.cu", k.s); put("/k.ptx", std::string(ptx.c_str())); std::string tool = "PATH=" + home + "/bin:$PATH; ";
    for (int c = 0; c < 2; c++) { std::vector<double> v; bool ok = true; for (int r = 0; r < 3 && ok; r++) { std::string cmd = tool + (c ? "ptxas -arch=sm_90 " + d + "/k.ptx -o " + d + "/k.cubin" : "nvcc -O3 -arch=sm_90 -std=c++17 -cubin " + d + "/k.cu -o " + d + "/k.cubin") + " >/dev/null 2>&1"; double t = now(); ok = system(cmd.c_str()) == 0; v.push_back(now() - t); } line(k.n, c ? "ptxas_process" : "nvcc_cubin_process", v, 0, ok); }
    for (auto f : {"/k.cu", "/k.ptx", "/k.cubin"}) unlink((d + f).c_str()); rmdir(dir);
  }
  printf("{\"summary\":\"jit done\",\"failed\":%d}\n", bad); return bad ? 1 : 0;
}
