// Streams, events and futures: calls beside each other, and results that are waited for later. Included by arraygpu.hpp.
//
//   arraygpu::stream stream;                                // calls on it run beside those on others
//   stats::smooth(stream, x, y);                            // returns when it is queued
//   arraygpu::event done(stream);                           // complete when the work that is queued there now is done
//   other.wait(done);                                       // later work on the other stream starts after the event
//   stream.then([&] { ready = true; });                     // called in the stream's order
//
// A future is a value on a device with the event after which it is complete. `arraygpu::async(f, args...)` is made of what is here: it uploads
// the arguments on the default context's stream, calls f, computes what f returns on a stream of its own (freed streams are lent again when their
// work is done, so one for each task costs little), and gives `future<R>(std::move(result), std::move(stream))`; of a scalar result the future takes the `gpu_scalar<T>` and reads it
// in get(). An error that is found at once is thrown at once, or kept for get() by `future<R>::failed`; an error record, which a kernel leaves later, is thrown by get().
//
// On the CPU calls return when they are done: streams are null, events and futures are ready, functions are called at once.
#ifndef ARRAYGPU_ASYNC_HPP
#define ARRAYGPU_ASYNC_HPP

#include <arraygpu/vector.hpp>

#include <memory>
#include <optional>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {

class event;

namespace detail {
/// Called by a thread of the driver: an exception of f ends the program, as in any other thread.
template <class F> void call_once(void *f) noexcept {
    F *const function = static_cast<F *>(f);
    (*function)();
    delete function;
}
} // namespace detail

/// Has the host call f() when the work that is queued on a stream is done; work that is queued there later waits for f. It must not throw, and must
/// not use arraygpu or CUDA, not even by destroying objects that it holds. It is never called if the device fails before.
/// A stream that is being captured has an error: its graph would call f again each time that it runs, but f is destroyed after its call.
template <class F> void then(const call_options &on, F f) {
    F *const kept = new F(std::move(f));
    const agpu_status status = agpu_stream_callback_once(on.c_call(), detail::call_once<F>, kept);
    if (status != AGPU_OK) delete kept;
    check(status);
}

/// A stream of a context, for calls that take options. Its work goes on when the object is destroyed. An object that was moved from stands for the context's own stream.
class stream {
public:
    explicit stream(context_ref where = {}) : where_(where) { check(agpu_stream_create(where.c_context(), &stream_)); }
    stream(stream &&other) noexcept : where_(other.where_), stream_(std::exchange(other.stream_, nullptr)) {}
    stream &operator=(stream &&other) noexcept {
        std::swap(where_, other.where_);
        std::swap(stream_, other.stream_);
        return *this;
    }
    ~stream() { static_cast<void>(agpu_stream_free(where_.c_context(), stream_)); }

    operator call_options() const noexcept { return {where_, stream_}; }
    /// Waits for the work that is queued on it; throws if a call there left an error record.
    void synchronize() const { check(agpu_stream_synchronize(where_.c_context(), stream_)); }
    /// Work that is queued on it from now on starts after the event.
    inline void wait(const event &e) const;
    /// See arraygpu::then.
    template <class F> void then(F f) const { arraygpu::then(*this, std::move(f)); }
    /// A CUstream (or cudaStream_t); null on the CPU.
    void *c_stream() const noexcept { return stream_; }

private:
    context_ref where_;
    void *stream_ = nullptr;
};

namespace detail {
class pending;
}

/// A point of a stream: it is reached when the work that was queued before it is done.
class event {
public:
    /// The point after all work that is queued on a stream now. Without options: on the default context's own stream.
    explicit event(const call_options &on = {}) {
        check(agpu_event_create(on.c_call()->context, &event_));
        const agpu_status status = agpu_event_record(event_, on.c_call());
        if (status == AGPU_OK) return;
        const error failure(status, agpu_last_error_message());
        static_cast<void>(agpu_event_free(std::exchange(event_, nullptr)));
        detail::fail(failure);
    }
    event(event &&other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
    event &operator=(event &&other) noexcept {
        std::swap(event_, other.event_);
        return *this;
    }
    ~event() { static_cast<void>(agpu_event_free(event_)); }

    /// Moves the event to the current end of a stream of the same context.
    void record(const call_options &on) { check(agpu_event_record(event_, on.c_call())); }
    bool ready() const {
        bool done = false;
        check(agpu_event_query(event_, &done));
        return done;
    }
    /// Waits for it; throws if a call on its stream left an error record.
    void synchronize() const { check(agpu_event_synchronize(event_)); }
    agpu_event *c_event() const noexcept { return event_; }

private:
    friend class detail::pending;
    struct nothing {};
    explicit event(nothing) noexcept {}

    agpu_event *event_ = nullptr;
};

/// Work that is queued on a stream from now on starts after the event, which may belong to another context.
inline void wait(const call_options &on, const event &e) { check(agpu_event_wait(e.c_event(), on.c_call())); }

inline void stream::wait(const event &e) const { arraygpu::wait(*this, e); }

namespace detail {

/// What brings the parts of a value to the host when it is taken.
template <class T> struct bringing {
    bringing() = default;
    bringing(const bringing &) = delete;
    bringing &operator=(const bringing &) = delete;
    virtual ~bringing() = default;
    virtual T bring(const stream *on) = 0;
};
/// The value of a future. Of a scalar it is on the device until it is taken.
template <class T, bool = type_of<T>::known> struct held {
    held() = default;
    held(T &&value) : value_(std::move(value)) {}
    held(std::unique_ptr<bringing<T>> &&value) : brings_(std::move(value)) {}
    /// Without exceptions, instead of a value that is none.
    void drop() {
        brings_.reset();
        if constexpr (std::is_default_constructible_v<T>) value_.reset();
    }
    T take(const stream *on) {
        if (brings_) return std::exchange(brings_, nullptr)->bring(on);
        if constexpr (std::is_default_constructible_v<T>) {
            if (!value_) return T(); // without exceptions an error was kept, and there is no value
        }
        return *std::exchange(value_, std::nullopt);
    }

private:
    std::optional<T> value_;
    std::unique_ptr<bringing<T>> brings_;
};
template <class T> struct held<T, true> {
    held() = default;
    held(T value) : host_(value) {}
    held(gpu_scalar<T> &&value) : device_(std::make_unique<gpu_scalar<T>>(std::move(value))) {}
    void drop() {
        device_.reset();
        host_ = T{};
    }
    T take(const stream *on) {
        if (device_ && on) { // not behind what others queued on the context's own stream
            device_->view().copy_to_async(&host_, 1, *on);
            on->synchronize();
        } else if (device_) {
            host_ = device_->get();
        }
        device_.reset();
        return host_;
    }

private:
    // no std::optional: GCC 12 warns that what it does not hold is not initialised
    std::unique_ptr<gpu_scalar<T>> device_;
    T host_{};
};

/// The part that futures of all types share: an event, or an error.
class pending {
public:
    /// Holds a value, or an error; until get().
    bool valid() const noexcept { return done_.has_value() || failure_.has_value(); }
    /// Whether get() would return without waiting.
    bool ready() const { return failure_.has_value() || there().ready(); }
    /// Waits until the value is complete. Errors are left for get() to throw.
    void wait() {
        if (failure_) return;
        const agpu_status status = agpu_event_synchronize(there().c_event());
        if (status != AGPU_OK) failure_.emplace(status, agpu_last_error_message());
    }

protected:
    pending() = default;
    explicit pending(const error &failure) : failure_(failure) {}
    explicit pending(const call_options &on) : on_(on), done_(std::in_place, on) {}
    explicit pending(stream &&on) : stream_(std::move(on)), on_(*stream_), done_(std::in_place, on_) {}
    pending(pending &&other) noexcept
        : stream_(std::exchange(other.stream_, std::nullopt)), on_(other.on_), done_(std::exchange(other.done_, std::nullopt)),
          failure_(std::exchange(other.failure_, std::nullopt)) {}
    pending &operator=(pending &&other) noexcept {
        stream_ = std::exchange(other.stream_, std::nullopt);
        on_ = other.on_;
        done_ = std::exchange(other.done_, std::nullopt);
        failure_ = std::exchange(other.failure_, std::nullopt);
        return *this;
    }
    ~pending() = default;

    /// Waits, and throws the error if there is one; without exceptions says whether there is a value. Afterwards the future is not valid.
    bool finish() {
        wait();
        const bool had = done_.has_value();
        done_.reset();
        const auto failure = std::exchange(failure_, std::nullopt);
        if (failure) detail::fail(error(*failure));
        return had && !failure;
    }
    template <class F> void queue(F f) {
        if (failure_) return;
        static_cast<void>(there());
        if (done_) arraygpu::then(on_, std::move(f));
    }
    const stream *own_stream() const noexcept { return stream_ ? &*stream_ : nullptr; }

private:
    const event &there() const {
        if (done_) return *done_;
        static const event none{event::nothing()};
        fail(error(AGPU_ERROR_INVALID_ARGUMENT, "the future holds no value: it was taken, or moved"));
        return none;
    }

    std::optional<stream> stream_; // if it is the future's own
    call_options on_;
    std::optional<event> done_;
    std::optional<error> failure_;
};

} // namespace detail

/// A value that is being computed: get() waits for it. Move only; get() takes the value out. Destroying it waits for nothing.
template <class T> class future : public detail::pending {
    static_assert(!std::is_reference_v<T> && !std::is_const_v<T>, "a future holds a value");

public:
    using value_type = T;

    /// Holds nothing.
    future() = default;
    /// A value that is complete when the work that is queued on a stream now is done: a T, or for a scalar a gpu_scalar<T>, which get() reads.
    template <class V, class = std::enable_if_t<std::is_constructible_v<detail::held<T>, V &&>>>
    explicit future(V &&value, const call_options &on = {}) : pending(on), value_(std::forward<V>(value)) {}
    /// A value that is complete when the stream's work is done; the future owns the stream from now on.
    template <class V, class = std::enable_if_t<std::is_constructible_v<detail::held<T>, V &&>>>
    future(V &&value, stream &&on) : pending(std::move(on)), value_(std::forward<V>(value)) {}
    /// No value: get() throws this.
    static future failed(const error &failure) { return future(failure, nothing{}); }

    /// The value, once it is complete.
    T get() {
        if (!finish()) value_.drop();
        return value_.take(own_stream());
    }
    /// Calls get(), so that `float r = async(...)` waits.
    operator T() && { return get(); }
    /// Has the host call f() once the value is complete, with the rules of arraygpu::then; never if there is an error instead. get() does not wait for it.
    template <class F> future &then(F f) & { return queue(std::move(f)), *this; }
    template <class F> future &&then(F f) && { return queue(std::move(f)), std::move(*this); }

private:
    struct nothing {};
    future(const error &failure, nothing) : pending(failure) {}

    detail::held<T> value_;
};

/// Work without a result.
template <> class future<void> : public detail::pending {
public:
    using value_type = void;

    future() = default;
    explicit future(const call_options &on) : pending(on) {}
    explicit future(stream &&on) : pending(std::move(on)) {}
    static future failed(const error &failure) { return future(failure); }

    void get() { finish(); }
    template <class F> future &then(F f) & { return queue(std::move(f)), *this; }
    template <class F> future &&then(F f) && { return queue(std::move(f)), std::move(*this); }

private:
    explicit future(const error &failure) : pending(failure) {}
};

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_ASYNC_HPP
