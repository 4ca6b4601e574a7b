"""Keeps a search index of some books: adds, changes, deletes, searches, sorts, suggests, and merges."""

import os
import tempfile

from whoosh import fields, index, qparser, sorting

WORDS = "alfa bravo charlie delta echo foxtrot golf hotel india juliet kilo lima mike november oscar papa".split()


def text(number):
    return " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 13))


def ask(searcher, query):
    try:
        return [hit["title"] for hit in searcher.search(query, limit=5)]
    except Exception as error:  # as a server would: the next one may do better
        print(type(error).__name__)
        return []


def main():
    schema = fields.Schema(
        id=fields.ID(stored=True, unique=True),
        title=fields.TEXT(stored=True, spelling=True),
        body=fields.TEXT(vector=True),
        price=fields.NUMERIC(stored=True, sortable=True),
        tags=fields.KEYWORD(stored=True, sortable=True),
    )
    with tempfile.TemporaryDirectory() as folder:
        for shelf in range(1):
            path = os.path.join(folder, f"shelf{shelf}")
            os.mkdir(path)
            books = index.create_in(path, schema)
            for batch in range(4):
                writer = books.writer()
                for number in range(batch * 6, batch * 6 + 6):
                    writer.add_document(
                        id=str(number), title=text(number)[:20], body=text(number), price=number, tags=WORDS[number % 4]
                    )
                writer.commit(merge=batch % 2 == 0)
                with books.writer() as writer:
                    writer.update_document(id=str(batch), title="new", body=text(batch + 7), price=99, tags="new")
                    writer.delete_by_term("id", str(batch + 1))
                with books.searcher() as searcher:
                    for words in ("alfa bravo", "title:new OR echo", "price:[2 TO 8]", "del*", '"alfa charlie"'):
                        ask(searcher, qparser.QueryParser("body", schema).parse(words))
                    golf = qparser.QueryParser("body", schema).parse("golf")
                    searcher.search(golf, sortedby="price", groupedby="tags")
                    searcher.search(golf, sortedby=sorting.FieldFacet("price", reverse=True))
                    searcher.suggest("title", "alpha")
                    list(searcher.documents(tags="alfa"))
                reader = books.reader()
                list(reader.field_terms("title"))
                list(reader.all_stored_fields())
                reader.close()
                books = index.open_dir(path)
                books.refresh()
                books.doc_count()
            books.optimize()
            print(books.doc_count())
            books.close()


if __name__ == "__main__":
    main()
