// Reading a time series from a CSV file.
#pragma once

#include <string>
#include <vector>

struct time_series {
    std::vector<float> time, value;
};

// Two columns of numbers under a header line. Throws std::runtime_error, with file and line, for anything else.
time_series read_csv(const std::string &path);
