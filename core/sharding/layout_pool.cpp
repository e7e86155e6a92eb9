// SPDX-License-Identifier: Apache-2.0
#include "sharding/layout.h"

#include <mutex>
#include <unordered_set>

namespace shardwright {

namespace {

struct ContentHash {
    using is_transparent = void;
    std::size_t operator()(const LayoutRef& layout) const { return layout->hash(); }
    std::size_t operator()(const Layout& layout) const { return layout.hash(); }
};

struct ContentEqual {
    using is_transparent = void;
    bool operator()(const LayoutRef& a, const LayoutRef& b) const { return *a == *b; }
    bool operator()(const Layout& a, const LayoutRef& b) const { return a == *b; }
    bool operator()(const LayoutRef& a, const Layout& b) const { return *a == b; }
};

}  // namespace

struct LayoutPool::Impl {
    std::mutex mutex;
    std::unordered_set<LayoutRef, ContentHash, ContentEqual> layouts;
};

LayoutPool::LayoutPool() : m_impl(std::make_unique<Impl>()) {}
LayoutPool::~LayoutPool() = default;

LayoutRef LayoutPool::intern(Layout layout) {
    const std::lock_guard lock(m_impl->mutex);
    const auto found = m_impl->layouts.find(layout);
    if (found != m_impl->layouts.end())
        return *found;
    return *m_impl->layouts.insert(std::make_shared<const Layout>(std::move(layout))).first;
}

}  // namespace shardwright
