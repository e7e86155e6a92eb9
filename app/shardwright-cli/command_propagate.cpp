// SPDX-License-Identifier: Apache-2.0
#include "commands.h"

#include "check/proposals.h"

#include <iostream>

namespace shardwright::cli {

int propagate(const Common& common, const PropagateArguments& arguments) {
    const auto analysed = analysisOptions(common);
    if (!analysed)
        return fail(analysed.error());
    const auto hardware = hardwareProfile(common);
    if (!hardware)
        return fail(hardware.error());
    auto document = openDocument(common, analysed->bindings);
    if (!document)
        return fail(document.error());
    Analyser analyser;
    const auto analysis = analyser.run(*document, *analysed);
    if (!analysis)
        return fail(analysis.error());
    PropagationOptions options;
    options.policy = *findPropagationPolicy(arguments.policy);
    options.direction = arguments.direction;
    auto priorities = parseAxisPriorities((*analysis)->configuration.mesh, arguments.priorities);
    if (!priorities)
        return fail(priorities.error());
    options.axisPriorities = std::move(*priorities);
    const auto proposals =
        proposeLayouts(**analysis, options, {}, *hardware ? &**hardware : nullptr);
    if (!proposals)
        return fail(proposals.error());
    if (common.format == Format::Json)
        std::cout << proposalsJson(**analysis, *proposals, options)
                         .dump(2, ' ', false, Json::error_handler_t::replace)
                  << "\n";
    else
        std::cout << proposalsText(**analysis, *proposals);
    if (!common.output.empty()) {
        apply(document->annotations, proposals->acceptAll);
        const auto saved = document->save(common.output);
        if (!saved)
            return fail(saved.error());
    }
    return (*analysis)->count(Severity::Error) > 0 ? kModelErrors : kOk;
}

}  // namespace shardwright::cli
