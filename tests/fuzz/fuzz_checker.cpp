// SPDX-License-Identifier: Apache-2.0
// The checker on any annotated model; what it says after an edit is what a full run says.
#include "check/analysis.h"
#include "harness/require.h"

#include <onnx/onnx_pb.h>

using namespace shardwright;

namespace {

/// Without the messages: irregular layouts of equal maps (of tensors smaller than their number of
/// shards) can be written in several ways, and which of them the words are of depends on which came
/// first.
std::string textOf(const Analysis& analysis) {
    std::string text;
    for (const Diagnostic& d : analysis.diagnostics)
        text += d.code + ' ' + std::to_string(d.node.value) + ' ' + d.tensor + ' ' +
                std::to_string(d.dimension) + '\n';
    for (const CommEntry& entry : analysis.communication.entries)
        text += collectiveName(entry.kind) + ' ' + std::to_string(entry.node.value) + ' ' +
                std::to_string(entry.groups.size()) + ' ' + std::to_string(entry.bytes) + '\n';
    for (std::size_t i = 0; i < analysis.meaning.values.size(); ++i) {
        const ValueMeaning& value = analysis.meaning.values[i];
        text += layoutSourceName(value.source);
        // Layouts that are equal have equal hashes, whatever pool they are from.
        text += ' ' + std::to_string(value.layout ? value.layout->hash() : 0) + '\n';
    }
    return text;
}

void requireSame(const std::string& kept, const std::string& full) {
    if (kept != full)
        std::fprintf(stderr, "--- after the edit:\n%s--- full:\n%s", kept.c_str(), full.c_str());
    FUZZ_REQUIRE(kept == full);
}

void explainEverything(const Analysis& analysis) {
    constexpr std::size_t kManyNodes = 16;
    const GraphIndex& graph = analysis.graph();
    const auto& nodes = graph.main().nodes;
    for (std::size_t i = 0; i < nodes.size() && i < kManyNodes; ++i)
        for (std::size_t slot = 0; slot < graph.node(nodes[i]).outputs.size(); ++slot)
            (void)explainSlot(analysis.meaningInput(), analysis.meaning, nodes[i], true,
                              static_cast<int>(slot));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    auto model = Model::fromBytes({reinterpret_cast<const char*>(data), size});
    if (!model)
        return 0;
    Document document{*model, (*model)->annotations()};
    AnalysisOptions options;
    options.profile = size % 2 == 0 ? Profile::Strict : Profile::Extended;
    options.bindings.fallback = size % 3 == 0 ? 1 : 8;
    Analyser analyser;
    const auto first = analyser.run(document, options);
    FUZZ_REQUIRE(first);
    explainEverything(**first);

    int left = 3;
    for (const Diagnostic& diagnostic : (*first)->diagnostics) {
        for (const Fix& fix : diagnostic.fixes) {
            if (left-- == 0)
                return 0;
            Document edited = document;
            apply(edited.annotations, fix.edit);
            const auto kept = analyser.run(edited, options);
            Analyser fresh;
            const auto full = fresh.run(edited, options);
            FUZZ_REQUIRE(bool(kept) == bool(full));
            if (kept)
                requireSame(textOf(**kept), textOf(**full));
        }
    }
    return 0;
}
