// SPDX-License-Identifier: Apache-2.0
#include "rules/registry.h"
#include "rules/rule_maker.h"

#include <onnx/onnx_pb.h>

namespace shardwright {

namespace {

/// How a reduction is split: the local operator, what joins the partial results, what comes after.
struct Reduction {
    const char* op;
    ReduceKind join;    ///< None: cannot be split.
    const char* local;  ///< Operator that runs instead where an axis is split; null: itself.
    const char* tail;   ///< Unary operator after the join; null: none.
    bool mean;          ///< Divided by the global number of elements.
};

constexpr Reduction kReductions[] = {
    {"ReduceSum", ReduceKind::Sum, nullptr, nullptr, false},
    {"ReduceMean", ReduceKind::Sum, "ReduceSum", nullptr, true},
    {"ReduceMax", ReduceKind::Max, nullptr, nullptr, false},
    {"ReduceMin", ReduceKind::Min, nullptr, nullptr, false},
    {"ReduceProd", ReduceKind::Prod, nullptr, nullptr, false},
    {"ReduceL1", ReduceKind::Sum, nullptr, nullptr, false},
    {"ReduceSumSquare", ReduceKind::Sum, nullptr, nullptr, false},
    {"ReduceL2", ReduceKind::Sum, "ReduceSumSquare", "Sqrt", false},
    {"ReduceLogSum", ReduceKind::Sum, "ReduceSum", "Log", false},
    {"ReduceLogSumExp", ReduceKind::None, nullptr, nullptr, false},
};

bool isFloating(std::int32_t type) {
    switch (type) {
        case onnx::TensorProto::FLOAT:
        case onnx::TensorProto::FLOAT16:
        case onnx::TensorProto::BFLOAT16:
        case onnx::TensorProto::DOUBLE: return true;
        default: return false;
    }
}

/// Since which opset the axes are an input.
int axesInputSince(std::string_view op) {
    return op == "ReduceSum" ? 13 : 18;
}

struct Axes {
    bool known = true;
    std::vector<bool> reduced;  ///< One a dimension.
};

Axes axesOf(RuleMaker& maker, const Reduction& reduction, std::size_t rank) {
    const NodeContext& context = maker.context();
    Sizes raw;
    const bool byInput = context.opset >= axesInputSince(reduction.op);
    if (!byInput) {
        raw = context.attributeInts("axes");
    } else if (context.hasInput(1)) {
        const auto constant = context.constantInts(1);
        if (!constant && context.input(1).elementCount() != 0)
            return {false, std::vector<bool>(rank, true)};
        raw = constant.value_or(Sizes{});
    }
    const bool nothing = byInput && context.attribute("noop_with_empty_axes", 0) != 0;
    Axes axes{true, std::vector<bool>(rank, raw.empty() && !nothing)};
    for (const std::size_t a : maker.axes(raw, rank))
        if (a < rank)
            axes.reduced[a] = true;
    return axes;
}

/// Why the reduced axes cannot be split, if so, and what joins them otherwise.
std::string wholeReason(const NodeContext& context, const Reduction& reduction, ReduceKind& join) {
    const std::int32_t type = context.input(0).elementType;
    join = reduction.join;
    if (join == ReduceKind::None)
        return "the logarithm of a sum of exponentials is taken over all of it";
    if (type == onnx::TensorProto::BOOL) {
        if (join != ReduceKind::Max && join != ReduceKind::Min)
            return "it has no meaning for truth values";
        join = join == ReduceKind::Max ? ReduceKind::Or : ReduceKind::And;
        return {};
    }
    if ((reduction.mean || reduction.tail != nullptr) && !isFloating(type))
        return "the result is rounded to an integer";
    return {};
}

void addRewrites(RuleMaker& maker, const Reduction& reduction, double count) {
    const int opset = maker.context().opset;
    if (reduction.local != nullptr) {
        Rewrite rewrite{Rewrite::Kind::ReplaceOperator};
        rewrite.name = reduction.local;
        rewrite.axesToInput =
            opset < axesInputSince(reduction.op) && opset >= axesInputSince(reduction.local);
        maker.rewrite(std::move(rewrite));
    }
    if (reduction.mean && count > 0) {
        Rewrite rewrite{Rewrite::Kind::Scale};
        rewrite.scale = 1.0 / count;
        maker.rewrite(std::move(rewrite));
    }
    if (reduction.tail != nullptr) {
        Rewrite rewrite{Rewrite::Kind::Tail};
        rewrite.name = reduction.tail;
        maker.rewrite(std::move(rewrite));
    }
}

/// ReduceSum [4,8], axes [1], keepdims      d0 r1+ -> d0 1
std::optional<Rule> buildReduction(const NodeContext& context, const Reduction& reduction) {
    RuleMaker maker(context);
    const Sizes &x = maker.in(0), &y = maker.out(0);
    const Axes axes = axesOf(maker, reduction, x.size());
    maker.flops(maker.elements(x));
    maker.wholeInput(1, "axes", "the axes are read whole");
    if (!axes.known) {
        maker.wholeInput(0, "d", "the axes are not constant");
        maker.wholeOutput(0, "o", "the axes are not constant");
        return maker.finish();
    }
    ReduceKind join = ReduceKind::None;
    const std::string reason = wholeReason(context, reduction, join);
    const bool keep = context.attribute("keepdims", 1) != 0;
    Dims in, out;
    double count = 1;
    for (std::size_t d = 0; d < x.size(); ++d) {
        const std::string number = std::to_string(d);
        if (!axes.reduced[d]) {
            in.push_back({maker.parallel("d" + number, x[d])});
            out.push_back(in.back());
            continue;
        }
        count *= static_cast<double>(x[d]);
        in.push_back({reason.empty() ? maker.reduction("r" + number, x[d], join)
                                     : maker.whole("r" + number, x[d], reason)});
        if (keep)
            out.emplace_back();
    }
    maker.require(out.size() == y.size());
    maker.input(0, std::move(in));
    maker.output(0, std::move(out));
    if (reason.empty() && count > 1)
        addRewrites(maker, reduction, count);
    return maker.finish();
}

}  // namespace

void registerReduction(Registry& registry) {
    for (const Reduction& reduction : kReductions)
        registry.add({"",
                      reduction.op,
                      "reduction",
                      true,
                      {},
                      [&reduction](const NodeContext& context) {
                          return buildReduction(context, reduction);
                      },
                      {1},
                      {},
                      true});
}

}  // namespace shardwright
