// Nanoseconds of the host for a call.
#pragma once

#include "driver.hpp"
#include "peers.h"
#include <arraygpu.h>
#include <cstdio>

// `launch_nothing` may be null.
void host_cost(agpu_context *, cu::stream, int (*launch_nothing)(const peer_arrays *, void *), std::FILE *json);
