// Expecting an error: its code, and the words that its message must have (function, argument, sizes).
#pragma once

#include "../common/check.hpp"
#include <arraygpu.hpp>
#include <initializer_list>

namespace check {

template <class Call> void error(const char *file, int line, agpu_status code, std::initializer_list<const char *> words, Call call) {
    try {
        call();
    } catch (const arraygpu::error &e) {
        if (e.code() != code) {
            fail(file, line, std::string("error ") + agpu_status_name(e.code()) + ", expected " + agpu_status_name(code) + ": " + e.what());
        }
        for (const char *word : words) {
            if (!std::strstr(e.what(), word)) fail(file, line, std::string("no \"") + word + "\" in the message: " + e.what());
        }
        return;
    }
    fail(file, line, std::string("no error, expected ") + agpu_status_name(code));
}

// Expects an error of a C function, whose message is the thread's last one.
inline void status(const char *file, int line, agpu_status code, std::initializer_list<const char *> words, agpu_status got) {
    error(file, line, code, words, [&] {
        if (got != AGPU_OK) throw arraygpu::error(got, agpu_last_error_message());
    });
}

} // namespace check

// CHECK_ERROR(code, ({"word", ...}), statement);
#define CHECK_ERROR(code, words, ...) check::error(__FILE__, __LINE__, code, CHECK_WORDS words, [&] { __VA_ARGS__; })
#define CHECK_STATUS(code, words, ...) check::status(__FILE__, __LINE__, code, CHECK_WORDS words, __VA_ARGS__)
#define CHECK_WORDS(...) __VA_ARGS__
