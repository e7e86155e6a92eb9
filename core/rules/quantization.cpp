// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

namespace shardwright {

namespace {

/// Scale and zero point: one number; one an index of `axis`; or (opset 21) one a block of
/// `block_size` along it.
class LinearMaker {
public:
    explicit LinearMaker(const NodeContext& context) : m_maker(context), m_context(context) {}

    std::optional<Rule> run() {
        const Sizes& x = m_maker.in(0);
        m_maker.require(x == m_maker.out(0) && m_context.hasInput(1));
        m_perTensor = m_context.input(1).elementCount() == 1;
        if (!m_perTensor)
            m_axis = m_maker.axis(m_context.attribute("axis", 1), x.size());
        if (m_maker.failed())
            return std::nullopt;
        m_dims = m_maker.parallelDims(x);
        m_scaleDims = m_dims;
        if (const std::int64_t block = m_context.attribute("block_size", 0);
            block > 0 && !m_perTensor)
            cutIntoBlocks(x[m_axis], block);
        m_maker.input(0, m_dims);
        for (const std::size_t slot : {1, 2})
            setScale(slot);
        m_maker.output(0, m_dims);
        return m_maker.finish();
    }

private:
    void cutIntoBlocks(std::int64_t size, std::int64_t block) {
        const std::string name = "d" + std::to_string(m_axis);
        const std::int64_t blocks = size / block + (size % block == 0 ? 0 : 1);
        if (size % block == 0) {
            const int n = m_maker.parallel(name, blocks);
            m_dims[m_axis] = {n, m_maker.whole("block", block, "a block has one scale")};
            m_scaleDims[m_axis] = {n};
        } else {
            const char* reason = "the blocks that have one scale do not divide it";
            m_dims[m_axis] = {m_maker.whole(name, size, reason)};
            m_scaleDims[m_axis] = {m_maker.whole("block", blocks, reason)};
        }
    }

    void setScale(std::size_t slot) {
        if (!m_context.hasInput(slot))
            return;
        const Sizes& sizes = m_context.input(slot).dims;
        if (m_perTensor)
            m_maker.input(slot, m_maker.broadcast(sizes, Dims(sizes.size())));
        else if (sizes.size() == 1)
            m_maker.input(slot, m_maker.broadcast(sizes, {m_scaleDims[m_axis]}));
        else
            m_maker.input(slot, m_maker.broadcast(sizes, m_scaleDims, 0));
    }

    RuleMaker m_maker;
    const NodeContext& m_context;
    bool m_perTensor = true;
    std::size_t m_axis = 0;
    Dims m_dims, m_scaleDims;
};

/// The scale comes from the range of the whole tensor.
std::optional<Rule> buildDynamic(const NodeContext& context) {
    RuleMaker maker(context);
    const Sizes& x = maker.in(0);
    maker.require(x == maker.out(0));
    const Dims dims = maker.wholeDims(x, "d", "the scale comes from the range of the whole tensor");
    maker.input(0, dims);
    maker.output(0, dims);
    for (const std::size_t slot : {1, 2})
        if (context.hasOutput(slot))
            maker.output(slot, maker.broadcast(context.output(slot).dims, {}));
    return maker.finish();
}

}  // namespace

/// DequantizeLinear [2,3], [3], axis 1      d0 d1, d1 -> d0 d1
void registerQuantization(Registry& registry) {
    for (const char* op : {"QuantizeLinear", "DequantizeLinear"})
        registry.add({"",
                      op,
                      "quantization",
                      false,
                      noRuleInProposal(op),
                      [](const NodeContext& context) { return LinearMaker(context).run(); },
                      {},
                      {},
                      true});
    registry.add({"",
                  "DynamicQuantizeLinear",
                  "quantization",
                  false,
                  noRuleInProposal("DynamicQuantizeLinear"),
                  buildDynamic,
                  {},
                  {},
                  true});
}

}  // namespace shardwright
