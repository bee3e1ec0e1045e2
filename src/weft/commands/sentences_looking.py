"""Sentences that look, remember or read, each under its form. How to read them: `templates`."""

__all__ = ["LOOKING"]

LOOKING = """
= view ID
    (look into|would you mind opening|mind opening|take through|walk through) ID
    $quick (look|peek|glance) (at|into) ID
    [$see] what (was|is) (written|said|told) (in|at) ID
    what do (we|i|you) have (in|at) ID
    (zoom in on|zoom into|revisit|reread|re-read|reopen|go over|go through|get|grab|fetch|
        return|recheck) ID
    return (text|content|contents) of ID
    (pull|bring) ID up
    gimme ID
    $see one with id ID
    what does it say (in|at) ID
    (have|take) $quick (look|peek|glance|read) (at|into|of|through) ID
    what is [there] (at|in|on|inside|inside of) ID [about]
    what is ID [about]
    what (does|did) ID (say|contain|hold|read|tell)
    $see what ID (says|contains|is about)
    $see what is (at|in|inside) ID
    $see (text|content|contents) (of|in) ID
    [$see] (short|brief) (view|version) of ID
    mind showing ID
= view ID full
    $see (every word|all words) of ID
    $show (untruncated|uncut|unshortened) ID
    $see ID (all of it|verbatim|unabridged|in all detail|in detail|word for word|every word of it)
    $show (unabridged|verbatim) ID
    $show full (for|of|in) ID
    $show ID [in] full not [just|only] summary
    [$show] $whole [(text|content|contents|view)] of ID
    [$show] (all|whole|everything|all text) (of|in) ID
    $show $whole ID
    [$show] ID (full|in full|completely|entirely|fully|in whole)
    [$show] full ID
    $show full ID not summary
    $see full view of ID
    $see ID and $see (everything|it|all|all of it) [in] full
    [in] full $see ID
= view ID with-annotations
    $show ID (annotations included|with annotations (attached|included))
    $show ID with-annotations
    with-annotations $show ID
= view branch:ID ? as
    [$show|read] [whole|entire|full|complete] branch (ending at|ending in|that ends at|up to|
        down to|leading to|through) ID
    ($show|read|list) [whole|entire|full|complete] branch [at|of|from|to] ID
    (stitch|stitch together) branch [at|of|from|to] ID
    [$show] branch [at|of|from|to|up to] ID
    [$show] ID branch
= view branch:ID as:nodes
    $show branch [at|of|from|to] ID node by node
= view ? result
    [$show|expand|open|full|whole] [in full|in whole|full|again]
    what (was|is) [in]
    $show [again] [rest of|all of|whole|full|everything of] [again]
= list ID continuations
    what (comes after|follows|continues) ID
    where does ID lead [to]
    (what|which) (replies|continuations|responses) did ID get
    [$listing] everything that (continues|follows) ID
= list ID annotations
    what (has been|was|is) annotated on ID
= list ID links
    [$listing] (what|where) (does ID link to|ID2 links to)
    what (is|are) ID linked (to|with)
    (what|which nodes) (is|are) linked (to|with) ID
= tree
    print out (tree|whole tree|entire tree)
    $show $quick [whole|entire|full|complete] (tree|tree structure|tree overview|tree map)
    look at [whole|entire|full] tree
    tree (view|structure|overview|map)
    [$show] (overview|outline|map|structure|shape|layout|drawing) of [whole|entire|this|
        current] tree
= tree from:ID ? depth
    $show (below|under|from) ID in tree
    $show (below|under|from) ID
= switch to ID
    i'm going to ID
    change to ID
    (set|change|switch|make) current (node|position) (to|be) ID
    (return|relocate|come back|get back|walk|shift) to ID
    position at ID
    (make|set) ID [as|to be|to] (current|active) [node|position|location|place|one]
    make ID (position|place|location|current position)
    (move|set|put|place|bring|change|switch|shift) (cursor|position|current position|focus|
        place|location) (to|at|on|onto) ID
    [$go] back to ID
    [$go] $way to ID [and (work|go on|carry on|start|look around) [from there|there]]
    $go to ID and (work|look around|start|stay) [from there|there]
= switch parent
    [$go] up (one level|level|one|one node|a level)
    up
    ($go|back) $way to parent of this (node|one)
    ($go|back) $way [to] parent [node|one]
    ($go|back) up to parent [node|one]
    parent node
= switch leaf
    $go (all way|right|straight) down to (leaf|tip)
    $go $way [to] (leaf|leaf node|tip) [of (this|current|branch|this branch|current branch)]
    $go $way to end of (branch|this branch|current branch)
= switch next
    next
    [$go] $way [to] next (node|one|sibling|branch)
    on to next [node|one|sibling]
= view ID full with-annotations
    $see ID full with-annotations
    [$show] ID [in] full with-annotations
    [$show] ID with-annotations [in] full
    $show [in] full ID with-annotations
= tree summary
    [$show] (summary|short overview|summarised view) of [whole|entire|this|current] tree
    [$show] [whole|entire|this|current] tree (summary|in summary|summarised|in short|briefly)
    (summarise|summarize) [whole|entire|this|current] tree
    (summary|summarised) tree
= tree from:ID summary
    (summary|summarised) tree (from|at|below|under) ID
    (summarise|summarize) (tree|subtree) (from|at|below|under|of) ID
= tree from:ID
    [$show|draw|print|map|outline] (tree|subtree|structure|part of tree) (at|of|from|under|
        below|rooted at|starting at|starting from|beginning at|that starts at|beginning with) ID
        [down|downwards|on|onwards]
= switch previous
    ($go|back) [one] back to previous (sibling|branch)
    back to previous (sibling|branch)
    [$go] $way [to] previous (node|one|sibling|branch)
= search TEXT
    where (have|has) (we|i|you|anyone|anybody) mentioned TEXT
    (look|check|see) (whether|if) TEXT (appears|occurs|comes up|is mentioned) [anywhere|somewhere]
    [full text|full-text|text] search TEXT
    TEXT search
    (search|look|find|grep|look through|search through|search in|search within) [in] [this|
        whole|entire|current] tree for [text|words|phrase|word|string|mentions of] TEXT
    (search|search for|look for|find|grep|locate) [word|words|phrase|text|string|all|any] TEXT
        (in|within|across|through|throughout|anywhere in) [this|whole|entire|current] tree
    (find|search for|look for|locate) [all|any|every] $hits [of|to|for] [$found] TEXT
    (list|list all|$see) [all|any|every] $hits (of|$found) TEXT
    (who|who else) (mentions|says|talks about|speaks of) TEXT
    where (do|did) (we|they|you|i) (talk about|mention|say|discuss|speak of) TEXT
    [$show] where TEXT (is mentioned|appears|occurs|comes up|is used|is said|shows up)
    (any|any other) (mention|mentions|occurrences) of TEXT
    (search|search for|find|look for) TEXT here [in this tree]
    (find|list|$see) [all|any] nodes where TEXT (is mentioned|appears|occurs|comes up|is used|
        is said)
    (do|run|make|perform|start|try) [quick] [full text|full-text|text|tree] search (for|on|of|
        with) [word|words|phrase|text] TEXT
    [full text|full-text|text] search for TEXT
    where (is|was|are) TEXT (mentioned|used|said|named|found|discussed)
    where (does|do|did) TEXT (occur|appear|come up|show up|turn up)
    find (where|out where) TEXT (is mentioned|appears|occurs|comes up|is used|is said)
    (which|what) nodes $found TEXT
    (is|was) TEXT mentioned (anywhere|somewhere|in tree|in this tree)
    (is|are) there (any|anything|any mention|mentions|any nodes) (about|of|on|with) TEXT
= search TEXT in:grove
    grove-wide search for TEXT
    (search|search for|find|look for) TEXT (grove-wide|in all trees of grove|in all trees|in
        every tree)
= help
    what are [all|available] commands
    ($show|give|get) list of [all|available] commands
    how (do|can) i use this
    how does (this|it|all this) work
    help out
    (i need|get|give|show|see|display|open|need|want) [some] help
    [list|$show|tell|name] [all|all of|every|available|possible|existing|known|all available]
        (commands|command)
    list of [all|available] commands
    (what|which) commands (are there|are available|are possible|exist|do i have|can i use|may i
        use|could i use|can i run|am i allowed to use|do you know|do you understand)
    what (can|may|could) i do [here|with this|in this tree|next]
    what (am i|are we) (allowed|able) to do [here]
= help COMMAND
    how (do|can|would|should) i COMMAND
    how (do|can|would|should) i COMMAND (node|something|things|nodes|branch|text|one)
    [$show|tell|explain] how to use [command] COMMAND [command]
    (how|tell how|explain how) (do|can|should|would|to) [i|you|one|we] use [command] COMMAND
        [command]
    how to use [command] COMMAND [command]
    how (does|do) [command] COMMAND [command] work
    how is [command] COMMAND [command] used
    [$show|give|get|i need|need] (help|usage|manual|syntax|options|docs|documentation|
        instructions) (with|on|for|about|of|regarding) [command] COMMAND [command]
    help [with|on|for|about|regarding|:] [command] COMMAND [command]
    (explain|describe) [command] COMMAND [command]
    what does [command] COMMAND [command] do
    COMMAND (help|usage|syntax)
    COMMAND command (help|usage|syntax)
    tell [more] about (command COMMAND|COMMAND2 command)
    what (are|is) (options|syntax|usage|form|arguments) (of|for) [command] COMMAND [command]
    (what|which) options (does|do) [command] COMMAND [command] (have|take)
    what is (command COMMAND|COMMAND2 command) [for|good for]
    what is COMMAND (for|good for)
= pin WHAT
    keep WHAT (pinned|in memory|in memory block|in pins|in view|always in memory)
    (add|put|place|set|stick) pin (to|on|in|at|for) WHAT
    (add|put) WHAT (to|in|into|among|on) (memory|memory block|pins|pinned list)
    i want WHAT pinned
= memory
    what is (currently|now|presently) in memory [block]
    what (am i remembering|is pinned|do i keep in memory|have i in memory|is remembered)
    $show [operational|working|current|own] memory [block|contents]
    [$show] (contents|content) of [operational] memory [block]
    what (is|do i have|have i got) in [operational] memory [block]
    memory block
    what (do i remember|have i pinned|do i have pinned)
= memory trace
    what (were|are) [last|recent|latest] (actions|steps)
    [$show|list] [memory|action|recent|full] trace [of [recent|last|past] (actions|activity|
        steps|commands)]
    $show what i (did|have done) [so far|recently|lately]
    [$show|list|review] [recent|last|latest|past|previous|all] (actions|activity|steps taken|
        action history|action log|action trace|history of actions|log of actions) [so far]
    [$show|list|review] [recent|last|latest|past] errors
    what (have i done|did i do|i did|i have done|have i been doing) [recently|so far|lately|
        until now|up to now|earlier|before]
    (what|which) errors (did i (get|have|make|run into|see)|have i (got|made|had))
= memory stashed
    what is in (stash|stashes)
    (what|which) (things|texts|items) have i stashed
    what (is|is there|do i have|have i|did i|i have|i) (stashed|stash)
    (what|which) (stashes|stashed texts|stashed items) (do i have|are there|exist|have i|have i
        made)
    ($show|list|list all|tell) [all|everything|what|all that|everything that|all of] [that] [i|
        i have|i've] stashed [so far|texts|items|things|memory|memories]
    ($show|list|list all) [all|all of] stashes
    stashed memory
= pin ID
    make ID pinned
    ID should (be|stay|remain) pinned
    pin ID (into|to|in|onto) (memory|memory block)
    make sure [that] ID (stays|remains|is|is kept|keeps) pinned
= stash TEXT2 TEXT
    stash TEXT and (call|name|label) it TEXT2
    (keep|hold|leave) TEXT (in|inside) [new] stash $called TEXT2
    (put|store|save) TEXT (in|into|to|inside) [new] stash $called TEXT2
    add TEXT (as|in|to) new stash $called TEXT2
= stash TEXT content-of:ID
    stash what ID says (as|under|called|named) [label|name] TEXT
    (make|create|add|new|start|save|store) [new] stash $called TEXT (with|containing|holding|
        from|of|for) [text of|content of|contents of|content|contents] ID
    (put|store|save|keep|copy) [text of|content of|contents of] ID (in|into|to|inside) [new]
        stash $called TEXT
= stash TEXT content-of:OWNER
    stash OWNER (text|content|contents|words) (as|under|called|named) [label|name] TEXT
= recall TEXT
    recall what is (in|under|stashed as|stashed under|stashed in) [stash] TEXT
    (get|fetch|take|pull|bring) TEXT [back] (from|out of) stash
    (recall|get|fetch|load|retrieve|show|open|restore|bring|pull|need|want|i need|i want|i'd
        like|give|see|read|view|take|unstash|what is in|look at|reload|return) [back|up|out] (stash
        $called TEXT|TEXT2 stash) [again|back|out|into context|back into context|into memory|up|now]
    what (did|have) i (stash|stashed|put|save|saved|store|stored|keep|kept) [away] (as|under|in|
        in stash|into stash|under label) TEXT
    (recall|show|get|see|view|give|bring back) what i [have] (stashed|stash|put|saved|kept)
        [away] (as|under|in stash|in|under label) TEXT
    (recall|retrieve|get|fetch) [back] [stashed|what is stashed under|what is stashed as] TEXT
= drop pin:ID
    $remove ID from (pins|pinned list|pinned nodes|memory pins)
    ID (no longer needs to|doesn't need to|need not|does not need to) be pinned [anymore|any more]
    let pin (on|of|for|at) ID go
    $remove pin [on|from|of|for|to|off|at] ID
    (take|pull|lift) pin (off|from|away from|out of|out from) ID
    (stop|no longer|don't keep|do not keep) (pinning|pin) ID [anymore|any more]
    i (no longer need|don't need) pin (on|of|for|at) ID [anymore|any more] [drop it|remove it|
        let it go]
    ID (should|need) (no longer|not) be pinned [anymore|any more] [unpin it|drop it]
    pin (on|of|at|for) ID (can go|is no longer needed)
= drop stash:TEXT
    let (stash TEXT|TEXT2 stash) go
    i (no longer need|don't need) stash TEXT [anymore|any more] [drop it|remove it|let it go]
    $remove (stash $called TEXT|TEXT2 stash)
    (throw|toss) stash TEXT (away|out)
    stash TEXT (can go|is no longer needed)
= pin ? result
    make sure [that] (stays|remains|is|is kept) pinned
    keep pinned
    (add|put|place|set|stick|drop) pin (to|on|in|at|for)
= stash TEXT TEXT2
    (make|create|add|new|start|save to|save in|write|open|put in|put into|save|store|set up)
        [new] stash $called TEXT [with|containing|holding|saying|for|from|of|=|that says|and put
        in] [text|content|contents|words|following] TEXT2
= stash TEXT summary-of:RANGE
    (make|create|add|new|start|save|store) [new] stash $called TEXT (with|containing|holding|
        from|of|for) summary of RANGE
    (summarise|summarize) RANGE and stash [it|that|this|summary|result|them] (as|under|in)
        [label|name] TEXT
    (put|store|save|keep) summary of RANGE (in|into|to|inside) [new] stash $called TEXT
    stash summary of RANGE (as|under|in|called|named) [label|name] TEXT
= stash TEXT summary-of:ID-ID2
    (summarise|summarize) [from] ID (to|through|until) ID2 and stash [it|that|this|summary|
        result] (as|under|in) [label|name] TEXT
= drop pin:OWNER
    $remove OWNER pin
= drop ? pin
    $remove
= drop ? stash
    $remove
= drop pin ? result
    $remove pin [on|from|of|for|to|off|at]
= drop pin DOC
    $remove pin [on|from|of|for|to|off|at] DOC
= write doc:TEXT2 append TEXT
    append [text|line|words|following|this|sentence] TEXT to [end of] TEXT2
= write doc:TEXT append TEXT2
    append to [end of] TEXT [text|line|words|following|this|sentence] TEXT2
= read doc:TEXT summary
    [$show|read] summary of TEXT
= read DOC summary
    brief on DOC
    (skim|sum up|skim through) DOC
    (summarise|summarize) DOC
    [$show|read|tell] [short|brief|quick] (summary|overview) of DOC
    ($show|read) DOC (as|in) [short|brief] (summary|summarised form)
    ($show|read) DOC (briefly|in short|summarised|summarized|summary only|only summary)
    ($show|read) only summary of DOC
= read doc:TEXT
    read TEXT
= read DOC
    what (does|did) DOC (say|contain|hold|read|tell)
    what is [there] (in|inside) DOC
    (have|take) $quick (look|peek|glance|read) (at|into|of|through) DOC
    ($show|open|read|look into|go through|read through|consult) [whole|entire|full|all of]
        [text of|content of|contents of] DOC [in full]
= read DOC ? section
    what does DOC say
    ($show|open|read|look at|look into) (of|in|from) DOC
    what (is|does it say) (in|at|on) (of|in|from) DOC
    what does (of|in|from) DOC say
= read DOC ? lines
    ($show|open|read|look at|look into) (of|in|from) DOC
    what (is|does it say) (in|at|on) (of|in|from) DOC
    (of|in|from) DOC
"""
