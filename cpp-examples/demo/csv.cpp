#include "csv.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>

// A number that ends at `end`; moves `text` behind it.
static bool number(const char *&text, char end, float &out) {
    char *rest = nullptr;
    out = std::strtof(text, &rest);
    if (rest == text || *rest != end) return false;
    text = rest + (end != '\0');
    return true;
}

time_series read_csv(const std::string &path) {
    std::ifstream file(path);
    if (!file) throw std::runtime_error("cannot read " + path);
    time_series s;
    std::string line;
    std::getline(file, line); // the header
    for (int at = 2; std::getline(file, line); ++at) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        if (line.empty()) continue;
        const char *text = line.c_str();
        float time = 0, value = 0;
        if (!number(text, ',', time) || !number(text, '\0', value)) {
            throw std::runtime_error(path + ":" + std::to_string(at) + ": not two numbers: " + line);
        }
        s.time.push_back(time);
        s.value.push_back(value);
    }
    return s;
}
