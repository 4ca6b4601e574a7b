/* What automata.c gives to Python: minimisation, product, and search for a word. The module's method table
   (core/module.c) takes it in; explain/automata/tables.py calls it. */
#ifndef LAWFUL_AUTOMATA_H
#define LAWFUL_AUTOMATA_H

PyObject *automaton_minimal(PyObject *module, PyObject *args);
PyObject *automaton_product(PyObject *module, PyObject *args);
PyObject *automaton_search(PyObject *module, PyObject *args);

#define AUTOMATA_METHODS                                                                                               \
    {"automaton_minimal", automaton_minimal, METH_VARARGS,                                                             \
     "automaton_minimal(initial, transitions, accepting)\n--\n\nThe smallest automaton of the same language."},        \
    {"automaton_product", automaton_product, METH_VARARGS,                                                             \
     "automaton_product(initial, transitions, accepting, initial, transitions, accepting, taken)\n--\n\n"              \
     "The smallest automaton of the words that `taken` chooses from two languages."},                                  \
    {"automaton_search", automaton_search, METH_VARARGS,                                                               \
     "automaton_search(initial, transitions, accepting, initial, transitions, accepting, taken, longest)\n--\n\n"      \
     "The shortest word that `taken` chooses from two languages, or None."},

#endif
