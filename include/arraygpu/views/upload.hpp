// gpu::async: a function of arguments that it brings to the device. Included by arraygpu/views.hpp.
#ifndef ARRAYGPU_VIEWS_UPLOAD_HPP
#define ARRAYGPU_VIEWS_UPLOAD_HPP

#include <arraygpu/async.hpp>
#include <arraygpu/expr/filters.hpp>
#include <arraygpu/views/algorithms.hpp>

namespace arraygpu {
inline namespace AGPU_HEADERS(v_) {
namespace detail {

template <class X> struct host_array : std::false_type {};
template <class T, class A> struct host_array<std::vector<T, A>> : std::true_type {};

/// Copies containers of the host to vectors on the device; returns every other argument unchanged.
template <class X> decltype(auto) uploaded(X &&x) {
    if constexpr (host_array<std::decay_t<X>>::value)
        return arraygpu::copy(x);
    else
        return static_cast<X &&>(x);
}

/// Arrays that own their memory.
template <class R> inline constexpr bool is_owned = false;
template <class T> inline constexpr bool is_owned<gpu_vector<T>> = true;
template <class T> inline constexpr bool is_owned<gpu_matrix<T>> = true;
template <class T> inline constexpr bool is_owned<gpu_tensor3<T>> = true;
/// Whether a result is computed, or has parts that are: a view or an expression.
template <class R> struct is_lazy : std::bool_constant<(is_operand<R> || is_compound<R>)&&!compound<R>::is && !is_owned<R>> {};
template <class... R> struct is_lazy<std::tuple<R...>> : std::bool_constant<(is_lazy<std::decay_t<R>>::value || ...)> {};
template <class A, class B> struct is_lazy<std::pair<A, B>> : is_lazy<std::tuple<A, B>> {};
template <class R, std::size_t N> struct is_lazy<std::array<R, N>> : is_lazy<R> {};
template <class R> struct is_lazy<std::vector<R>> : is_lazy<R> {};

/// The buffer of an array, or the first one of several; null where there is none.
template <class R, class = void> struct buffer_in {
    static agpu_buffer *of(const R &) { return nullptr; }
};
template <class R> struct buffer_in<R, std::void_t<decltype(std::declval<const R &>().c_buffer())>> {
    static agpu_buffer *of(const R &value) { return value.c_buffer(); }
};
template <class R> struct buffer_in<R, std::enable_if_t<is_tuple<R>::value>> {
    static agpu_buffer *of(const R &all) {
        agpu_buffer *found = nullptr;
        std::apply([&](const auto &...each) { ((found = found ? found : buffer_in<std::decay_t<decltype(each)>>::of(each)), ...); }, all);
        return found;
    }
};
template <class R> struct buffer_in<std::vector<R>> {
    static agpu_buffer *of(const std::vector<R> &all) { return all.empty() ? nullptr : buffer_in<R>::of(all.front()); }
};

/// Results until a future's get() takes them: scalars are on the device, in the same places of tuples and lists.
template <class T> struct on_device {
    static constexpr bool is_scalar = is_number<T> || compound<T>::is;
    using type = std::conditional_t<is_scalar, gpu_scalar<T>, T>;
    template <class E> static type made(const E &, context_ref where) {
        if constexpr (is_scalar) return gpu_scalar<T>(where);
        else return T::adopt(nullptr);
    }
    static T taken(type &made, const stream *on) {
        if constexpr (is_scalar) return held<T>(std::move(made)).take(on);
        else return std::move(made);
    }
};
template <class... T> struct on_device<std::tuple<T...>> {
    using type = std::tuple<typename on_device<T>::type...>;
    template <class E> static type made(const E &e, context_ref where) {
        return std::apply([where](const auto &...each) { return type{on_device<T>::made(each, where)...}; }, e);
    }
    static std::tuple<T...> taken(type &made, const stream *on) {
        return std::apply([on](auto &...each) { return std::tuple<T...>{on_device<T>::taken(each, on)...}; }, made);
    }
};
template <class T, std::size_t N> struct on_device<std::array<T, N>> {
    using type = std::array<typename on_device<T>::type, N>;
    template <class E> static type made(const E &e, context_ref where) {
        return std::apply([where](const auto &...each) { return type{{on_device<T>::made(each, where)...}}; }, e);
    }
    static std::array<T, N> taken(type &made, const stream *on) {
        return std::apply([on](auto &...each) { return std::array<T, N>{{on_device<T>::taken(each, on)...}}; }, made);
    }
};
template <class T> struct on_device<std::vector<T>> {
    using type = std::vector<typename on_device<T>::type>;
    template <class E> static type made(const std::vector<E> &e, context_ref where) {
        type all;
        for (const E &one : e) all.push_back(on_device<T>::made(one, where));
        return all;
    }
    static std::vector<T> taken(type &made, const stream *on) {
        std::vector<T> all;
        for (auto &one : made) all.push_back(on_device<T>::taken(one, on));
        return all;
    }
};
template <class T> class brought final : public bringing<T> {
public:
    explicit brought(typename on_device<T>::type &&made) : made_(std::move(made)) {}
    T bring(const stream *on) override { return on_device<T>::taken(made_, on); }

private:
    typename on_device<T>::type made_;
};

/// The context of the first array that expressions read; the default one if they read none.
template <class E> void roots_of(const E &e, std::vector<node_ptr> &out) {
    if constexpr (is_std_vector<E>) {
        for (const auto &one : e) roots_of(one, out);
    } else if constexpr (is_tuple<E>::value) {
        std::apply([&out](const auto &...each) { (roots_of(each, out), ...); }, e);
    } else {
        nodes_of_vectors<std::decay_t<decltype(as_expr(e))>>::add(as_expr(e), out);
    }
}
template <class E> context_ref context_read_by(const E &e) {
    std::vector<node_ptr> roots;
    roots_of(e, roots);
    std::vector<output> outputs;
    for (const node_ptr &root : roots) outputs.push_back({root.get(), {}});
    lent_encoder lent;
    encode(lent.get(), outputs.data(), outputs.size());
    for (const agpu_arg &argument : lent.get().arguments()) {
        if (argument.kind == AGPU_ARG_VIEW) return context_ref::of_buffer(argument.view.buffer);
    }
    return {};
}

/// Maps the result of a function to the value of a future: views and expressions, also in tuples and lists, are computed to arrays or numbers, on a stream of
/// their own in the context of the arrays that they read. Other results stay as they are.
template <class R, bool = is_lazy<R>::value> struct computed {
    static_assert(!std::is_void_v<R>, "the function returns nothing: return a view, an expression, an array or a number");
    static_assert(!is_range<R>, "async: a view of tuples or windows is no array: return a tuple of its parts, std::make_tuple(get<0>(v), get<1>(v)), or transform it");
    using type = R;
    static future<R> of(R &&value) {
        agpu_buffer *const buffer = buffer_in<R>::of(value);
        const call_options there = buffer ? call_options(context_ref::of_buffer(buffer)) : call_options();
        return future<R>(static_cast<R &&>(value), there);
    }
};
template <class R> struct computed<R, true> {
    static_assert((gives_values<R>(), true));
    using type = typename evaluated_as<R>::type;
    static future<type> of(R &&value) {
        const context_ref where = context_read_by(value);
        stream on(where);
        auto made = on_device<type>::made(value, where);
        result_list all;
        list_results(all, made, value);
        run_list(call_options(on).c_call(), all);
        if constexpr (is_several<R>)
            return future<type>(std::unique_ptr<bringing<type>>(new brought<type>(std::move(made))), std::move(on));
        else
            return future<type>(std::move(made), std::move(on));
    }
};
/// What a filter keeps has a size that the host must know, so this waits.
template <class E> struct computed<filtered<E>, false> {
    using type = decltype(std::declval<const filtered<E> &>().to_vector());
    static future<type> of(filtered<E> &&value) { return computed<type, false>::of(value.to_vector()); }
};

} // namespace detail

/// Calls f(args..) after copying every std::vector among the arguments to the device of the default context, on that context's own stream. An expression or a
/// view that f returns, or several in a std::tuple, std::pair, std::array or std::vector, is computed on a stream of its own, and becomes an array or a number.
/// What a filter keeps is computed at once. Everything else is the value of the future as it is. Errors are thrown by get().
template <class F, class... X> auto async(F &&f, X &&...x) {
    using R = std::decay_t<decltype(f(detail::uploaded(static_cast<X &&>(x))...))>;
    using Future = future<typename detail::computed<R>::type>;
    try {
        return detail::computed<R>::of(R(f(detail::uploaded(static_cast<X &&>(x))...)));
    } catch (const error &e) {
        return Future::failed(e);
    }
}

} // namespace AGPU_HEADERS
} // namespace arraygpu

#endif // ARRAYGPU_VIEWS_UPLOAD_HPP
