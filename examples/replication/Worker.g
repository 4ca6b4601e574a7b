// Figure 5: the version that is registered is the one that was told, only what was accepted is sent, and there are
// as many directories as items.
S ::= ε | st T (T.w = st.w;)
T ::= ε | id U (U.w = T.w; U.i = id.id;)
U ::= ε | pr {assert U.w == pr.w && U.i == pr.id;} V
V ::= ε | ar W (W.b = ar.reg;)
W ::= ε | is {assert W.b;} X (X.s = size(is.items);)
X ::= ε | es {assert X.s == size(es.contents);}
