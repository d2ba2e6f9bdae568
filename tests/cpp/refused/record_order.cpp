// says: AGPU_RECORD names the fields in another order than the struct
#include <arraygpu/expr.hpp>
struct body { float x, v; int kind; };
AGPU_RECORD(body, v, x, kind)
