"""Sentences that change the tree or let others go on, each under its form. How to read them: `templates`."""

__all__ = ["CHANGING"]

CHANGING = """
= respond ID TEXT
    as $reply to ID TEXT
    (give|send|write|post) ID $reply $saying TEXT
    say (this|following) to ID TEXT
    (create|$make|send|post) $reply (to|for|on|under|at) ID $saying TEXT
    (create|$make|send|post) $reply TEXT (to|for|on|under|at) ID
    (create|$make|send|post|write|say) TEXT (as|in) $reply (to|for) ID
    in $reply to ID [say|write|answer|reply|respond|post|i say] [with] TEXT
    (reply|respond|answer) [to] ID (with|by saying) [saying|text|words|message] TEXT
    tell ID [that] TEXT
= annotate ID TEXT
    (put|write|jot|scribble|note) TEXT in margin of ID
    annotate ID with $note (saying|that says|that reads|reading) TEXT
    (mark|provide|supply) ID with $note TEXT
    (jot|jot down|scribble|scribble down) TEXT (on|at|beside|next to|in margin of) ID
    $make to ID $note TEXT
    $make (this|following) $note (to|on|for) ID TEXT
    $make $note (on|to|at|for|beside|next to|under|about) ID $saying TEXT
    $make $note $saying TEXT (on|to|at|for|beside|next to|under|about) ID
    $make TEXT (to|on|at|beside|next to) ID as $note
    $make TEXT as $note (to|on|at|for|of|beside) ID
    $make ID $note $saying TEXT
    $note (for|on|about|to) ID [saying|that says] TEXT
    annotate ID (as|with|by saying|to say|saying) [note|comment|remark|text|words|annotation|saying] TEXT
    (comment|remark|note) (on|about|for) ID (that|as|with|saying) TEXT
= edit ID TEXT
    turn ID into TEXT
    set ID to [read|say] TEXT
    (edit|change|revise|rewrite|update) ID [with] new (text|content|wording|version) TEXT
    (write|make|create|add|save) new (version|revision) of ID $saying TEXT
    (write|make|create|add|save) new (version|revision) of ID (as|=) TEXT
    (set|change|update|edit|revise|rewrite|modify|alter|amend|replace|correct) (text|content|
        contents|wording|words|body) (of|in) ID (to|with|as|by|to read|to say|into|so it says|so
        that it says|so it reads|so that it reads) TEXT
    (change|update|edit|revise|rewrite|reword|rephrase|modify|alter|amend|correct|make) ID (so|
        so that) it (says|reads|becomes|is|now says|now reads) TEXT
    (make|let|have) ID (say|read|be) TEXT [instead]
    ID should (say|read|be) TEXT [instead]
= merge ID ID2 TEXT
    (bring|put) ID and ID2 together (as|into|in) [one] [node] TEXT
    (merge|combine|fuse|unite|blend) ID (and|with) ID2 (into|to form|to|as) (one|single|one
        single|new) [node|text|one] $saying TEXT
    (make|create|form|build) (one|one node|single node|new node|node|merge) (of|from|out of) ID
        and ID2 $saying TEXT
= split ID at:TEXT
    (split|cut|break|divide) ID (so|so that) second (part|half|node|one) (starts|begins) with TEXT
    (split|cut|break|divide) ID (where|at where|just before|right before|directly before) TEXT
        [begins|starts]
= edit OWNER TEXT
    (set|change|update|edit|revise|rewrite|modify|alter|amend|replace) OWNER (text|content|
        contents|wording) (to|with|as|by|to read|to say) TEXT
= join ID
    join ID (with|to|and|onto) (next|following|next one|following one|next node|following node)
        [after it]
    join ID (with|to|and|onto) (its|it's) (successor|continuation|next node|following node|next|
        child)
    join ID (with|to|and|onto) (one|node|what|whatever|one node|that) [right|directly|
        immediately|that|which] (after it|follows|following|follows it|comes next|comes after|comes
        after it|after|after that)
    (glue|unsplit|merge|combine) ID (with|to|and|onto) (next|following) (one|node)
= attach ID TEXT
    attach [file|image|picture|photo|item|attachment] TEXT (to|onto|on|with) ID [as attachment]
    attach (to|onto) ID [file|image|picture|photo|item|attachment] TEXT
    $make [file|image|picture|photo|item] TEXT (to|on|onto) ID as [attachment|item|attached item]
    $make (attachment|item|file|image|picture) TEXT (to|on|onto) ID
    $make (attachment|item|file|image|picture) (to|on|onto) ID [:] TEXT
    give ID attachment TEXT
= link ID to ID2
    link ID (onto|towards|over to) ID2
    [$make] [new] (link|connection|reference|cross-reference) [from|between] ID (to|and|with) ID2
= unlink ID from ID2
    (sever|detach|separate|decouple) ID (from|and) ID2
    (remove|delete|drop|cut|break) link ID ID2
    $remove (link|connection|reference) [from|between] ID (to|and|with|from) ID2
    (link|connection) (from|between) ID (to|and) ID2 (can go|is no longer needed)
    take (link|connection) (from|between) ID (to|and) ID2 away
= tag ID HASH
    (add|put|set|stick|apply) HASH (to|on|onto) ID
= untag ID HASH
    (remove|delete|drop|take|strip|clear|pull) HASH (from|off|off of) ID
= prune ID
    prune everything from ID (down|on|onwards|downwards)
    prune ID and (everything|all|all that is|all nodes|anything) (below|under|after|beneath|
        that follows) [it]
    prune [away|off] [branch|subtree] [at|from|starting at|starting from|that starts at|
        beginning at|of] ID
    prune [away|off] ID (branch|subtree)
    (fold|move) [branch|subtree] [at|from] ID (out of sight|away out of sight)
= restore ID
    (bring|get) ID back
    (restore|bring back|unprune|revive|reinstate|recover) [previously] [pruned] [branch|
        subtree] [at|from|starting at|of] ID
    (restore|bring back|unprune|recover) ID (branch|which i pruned|that i pruned|which was
        pruned|that was pruned)
    (bring|put|get|take|give|want|i want) [previously] pruned [branch|subtree|node] [at|from]
        ID back
    (bring|put|get) [branch|subtree] [at|from] ID back (from pruned|into sight|from pruning)
= exclude ID
    (exclude|leave out|keep out|leave|keep|take|drop|remove) ID (from|out of) context window
        [from now on]
    (keep|leave) ID out of $contexts (from now on|for now)
    (exclude|omit|leave out|hide|remove|drop|take|mute|skip|strip|cut) ID (from|out of) $contexts
    (keep|leave|take|hold|move) ID out of $contexts
    (exclude|omit|leave out) (from|out of) $contexts ID
    (don't|do not|no longer|stop) (include|including) ID in $contexts [anymore|any more]
    ID should (be excluded|be left out|not be included|be kept out|stay out|be omitted|not be)
        [from|of|in|out of] $contexts
= include ID
    make ID part of $contexts again
    stop leaving ID out [of $contexts]
    ID should be (included|part of context|in context) again
    stop (excluding|leaving out|omitting|skipping|muting) ID [from $contexts]
    no longer exclude ID [from $contexts] [include it]
    (include|put|take|bring|add|let) ID [back] (in|into|to) $contexts again
    (put|take|bring|add|move|let) ID back (in|into|to) $contexts
    include ID (in|into) $contexts
    ID should be (included|back|part of) [in] $contexts again
= collapse ID-ID2 TEXT
    (collapse|fold) [range|from] ID (to|through|until) ID2 (under|with|as) (heading|title|name|label) TEXT
    (collapse|fold) everything from ID to ID2 (as|into|under|called|named) [label|name] TEXT
    (collapse|fold) [range|from] ID (to|through|until) ID2 [and] (call|name|label|calling|
        naming) [it|them|that|this|range] TEXT
= link ID to DOC
    [$make] [new] (link|connection|reference|cross-reference) [from|between] ID (to|and|with) DOC
= link ID to ? tree
    [$make] [new] (link|connection|reference) [from|between] ID (to|and|with)
= unlink ID from DOC
    $remove (link|connection|reference) [from|between] ID (to|and|with|from) DOC
= unlink ID from ? tree
    $remove (link|connection|reference) [from|between] ID (to|and|with|from)
= bookmark ID TEXT
    (bookmark|star|favourite|favorite) ID (under|with|as) (name|label|title|heading) TEXT
    (bookmark|star|favourite|favorite) ID (and|then) (call|name|label) it TEXT
    (bookmark|star|favourite|favorite) ID (labelled|labeled|named|titled|called|with name|with
        label|and label) TEXT
    $make (bookmark|star) (at|on|for|to) ID [called|named|labelled|labeled|with label|label|as|
        saying] TEXT
    $make (bookmark|star) [called|named|labelled|labeled|with label|label] TEXT (at|on|for|to) ID
= bookmark ID
    $make (bookmark|star) (at|on|for|to|next to|beside) ID
    give ID (star|bookmark)
    $make ID (to|in|into|as|among) (bookmarks|favourites|favorites|favourite|favorite|bookmark)
= unbookmark ID
    $remove (bookmark|star) (from|off|on|of|at|for) ID
    $remove ID from (bookmarks|favourites|favorites)
    (take|pull) (bookmark|star) (off|from|away from) ID
    ID (should|need) (no longer|not) be bookmarked [anymore|any more] [unbookmark it]
    (no longer|stop) (bookmark|bookmarking) ID
= unbookmark OWNER
    $remove OWNER (bookmark|star)
= prune ? branch
    prune
= collapse RANGE TEXT
    (collapse|fold) [range|from] RANGE (under|with|as) (heading|title|name|label) TEXT
    (collapse|fold) [range|from] RANGE [and] (call|name|label|calling|naming) [it|them|that|
        this|range] TEXT
= expand ? range
    (expand|unfold|uncollapse|open|open up) [again]
= expand TEXT
    (expand|unfold|uncollapse|open|open up|unfold again) [collapsed] (range|group|section|part|
        nodes) $called TEXT [again]
    (expand|unfold|uncollapse|open up) (TEXT (range|group)|collapsed TEXT2)
= undo
    take (that|this|my|last|that last) [last] (action|step|change|operation) back
    $take_back $last $deed $i_did
    $take_back what i [just|last] (did|made|changed)
    (undo|take back|revert) (that|it|this)
    [oops|sorry|whoops] undo [that|it|this]
    take (that|it) back
= redo
    $take_back $last (undo|undoing)
    $take_back (that|this) undo
    (redo|reapply|repeat) $last undone [$deed]
    redo (last|latest|most recent|previous) undo
    (redo|reapply|apply again|do again|bring back|restore|repeat) what [i|i just|i have just|
        was|was just] (undid|undone|took back|reverted)
    (redo|reapply|bring back|restore|repeat) [last|undone|last undone] $deed [that] [i|i just]
        (undid|took back|reverted)
    (redo|reapply|bring back|restore) (last undone|undone) $deed
= tag ID TAG
    $make tag [called|named|of] TAG (to|on|onto) ID
    $make TAG tag (to|on|onto) ID
    $make TAG as tag (to|on|for|of) ID
    (give|assign) ID tag [called|named|of] TAG
    (give|assign) ID TAG tag
    (mark|label|tag) ID (with|by|using) tag [called|named|of] TAG
= untag ID TAG
    $remove tag [called|named] TAG (from|off|of|on) ID
    $remove TAG tag (from|off|of|on) ID
    (take|pull) tag [called|named] TAG (off|from|away from) ID
    (take|pull) TAG tag (off|from|away from) ID
    untag ID (as|of|with|from) TAG
= untag OWNER TAG
    $remove OWNER TAG tag
    $remove OWNER tag TAG
= continue from ID using agent:TEXT
    (let|have|make|ask|get|use|tell) TEXT [to] $goes_on [on] [from|at|after] ID
= continue using agent:TEXT
    (let|have|make|ask|get|use|tell) TEXT [to] $goes_on [from here]
= continue from ID n:N using agent:TEXT
    (let|have|make|ask|get|use|tell) TEXT [to] (generate|write|make|produce) N $kind ($many|
        $one) $on ID
= continue from ID stop:TEXT
    $goes_on [from|at|after] ID with TEXT as stop [sequence|word|string]
= continue
    $ask [another|one|one more|single] $kind $one
    $ask [another|one|one more|single] $kind $one from here
    (let|have|make|ask|get) (it|model|another model|story|text|another agent|someone else) [to]
        $goes_on [on]
    (let|have|make|ask|get) (it|model|another model|story|text|another agent) [to] $goes_on
        from here
= continue from ID
    [$ask] [another|one|one more|single] $kind $one $on ID
    (let|have|make|ask|get) (it|model|another model|story|text|another agent) [to] $goes_on
        [on] [from|at|after] ID
= continue n:N
    $ask N $kind ($many|$one)
    $ask N $kind ($many|$one) [from|at] here
    $goes_on with N $kind ($many|$one)
= continue from ID n:N
    generate N from ID
    generate N $kind (from|after) ID
    [$ask] N $kind ($many|$one) $on ID
    $ask ID N $kind ($many|$one)
    $goes_on (from|at|after) ID with N $kind ($many|$one)
    $goes_on [from|at|after|on from] ID N times
    $goes_on N times [from|at|after] ID
= continue n:N ? from
    $ask N $kind ($many|$one)
= continue from ID ? agent
    (let|have|make|ask|get|use|tell) [to] $goes_on [on] [from|at|after] ID
    (let|have|make|ask|get|use|tell) [to] (generate|write|make|produce) [one] $kind $one $on ID
= continue ? agent
    (let|have|make|ask|get|use|tell) [to] $goes_on [from here]
= continue from ID n:N ? agent
    (let|have|make|ask|get|use|tell) [to] (generate|write|make|produce) N $kind ($many|$one) $on ID
= continue from ID ? tokens
    generate [from|at|after] ID
    (generate|write|produce) [more] (from|at|after|of) ID
    $ask (from|at|after) ID
= continue ? tokens
    (generate|write|produce) [more] [from here]
"""
