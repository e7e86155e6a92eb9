// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan/constants.h"
#include "plan/draft.h"

#include <memory>
#include <unordered_map>
#include <vector>

namespace shardwright::lowering {

/// One state of a value: as its node left it, in its declared layout, or as a consumer wants it.
struct Form {
    std::vector<int> held;     ///< Locals, ascending by device.
    std::vector<int> derived;  ///< Pieces cut or joined from them on their device.
};

/// Finds or makes the local tensor with exactly the elements that somebody reads.
class LocalValues {
public:
    LocalValues(const Context& context, Draft& draft, ConstantTable& constants)
        : m_context(context), m_draft(draft), m_constants(constants) {}

    /// The value in a layout; null: everywhere.
    Form& form(ValueId value, const Layout* layout) { return m_forms[{value, layout}]; }

    /// The elements `box` on `device`, from what it holds of `form`: as it is, cut, or joined from
    /// several. Refuses where the device does not hold them.
    int fetch(Form& form, DeviceId device, ValueId value, const Box& box, NodeId reader);
    /// The same of an everywhere value; constants and graph inputs come in any piece.
    int fetchEverywhere(DeviceId device, ValueId value, const Box& box, NodeId reader);
    /// A whole everywhere value whose shape may be unknown.
    int wholeEverywhere(DeviceId device, ValueId value, NodeId reader);

    int addLocal(DeviceId device, ValueId value, Box box);
    int addConstant(DeviceId device, ValueId value, Box box);
    /// `local`, or a copy of it made by a node where it is only embedded.
    int stored(int local);
    /// The fewest locals of `form` on `device` and of `term` that cover what there is of `box`.
    std::vector<int> sources(const Form& form, DeviceId device, int term, const Box& box) const;
    const std::vector<Box>& holding(const LayoutRef& layout, DeviceId device);

    Context const& context() const { return m_context; }
    Draft& draft() { return m_draft; }
    ConstantTable& constants() { return m_constants; }

private:
    const DraftLocal& at(int local) const {
        return m_draft.locals[static_cast<std::size_t>(local)];
    }
    int findExact(const std::vector<int>& locals, DeviceId device, const Box& box) const;
    int cut(int local, const Box& box, NodeId reader);
    int join(const std::vector<int>& sources, DeviceId device, ValueId value, const Box& box,
             NodeId reader);

    struct FormKey {
        ValueId value;
        const Layout* layout;
        bool operator==(const FormKey&) const = default;
    };
    struct HoldingKey {
        const Layout* layout;
        DeviceId device;
        bool operator==(const HoldingKey&) const = default;
    };
    struct Hash {
        std::size_t operator()(const FormKey& k) const {
            return std::hash<const void*>{}(k.layout) * 31 + k.value.index();
        }
        std::size_t operator()(const HoldingKey& k) const {
            return std::hash<const void*>{}(k.layout) * 31 + static_cast<std::size_t>(k.device);
        }
    };
    const Context& m_context;
    Draft& m_draft;
    ConstantTable& m_constants;
    std::unordered_map<FormKey, Form, Hash> m_forms;
    std::unordered_map<HoldingKey, std::vector<Box>, Hash> m_holdings;
    std::unordered_map<int, int> m_stored;
};

}  // namespace shardwright::lowering
