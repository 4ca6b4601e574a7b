"""Keeps mail in five kinds of mailbox: files letters, reads, answers, moves and deletes them, and looks again."""

import mailbox
import os
import tempfile

KINDS = (mailbox.mbox, mailbox.MH, mailbox.MMDF, mailbox.Babyl, mailbox.Maildir)


def letter(number):
    text = f"From: writer{number % 7}@example.org\nTo: reader@example.org\nSubject: letter {number}\n\n"
    return text + f"Line one of {number}.\nFrom here on it is shorter.\n" * (number % 5 + 1)


def keep(box, first):
    box.lock()
    try:
        keys = [box.add(letter(number)) for number in range(first, first + 12)]
        box.flush()
    finally:
        box.unlock()
    for key in keys[::2]:
        box.get_message(key)
        box.get_string(key)
        file = box.get_file(key)
        file.read()
        file.close()
    box.lock()
    for key in keys[:4]:
        box[key] = letter(first + 100)
        box.get_bytes(key)
        box.get_message(key)
    for key in keys[4:7]:
        box.remove(key)
    box.flush()
    box.unlock()
    for message in box:
        message["Subject"]
    return len(box)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for round in range(6):
            for kind in KINDS:
                path = os.path.join(folder, kind.__name__)
                box = kind(path)
                keep(box, round * 20)
                if kind is mailbox.MH:
                    sequences = box.get_sequences()
                    sequences["unseen"] = list(box.keys())[:3]
                    box.set_sequences(sequences)
                    box.pack()
                box.close()
        target = mailbox.mbox(os.path.join(folder, "all"))
        for kind in KINDS:
            box = kind(os.path.join(folder, kind.__name__))
            target.lock()
            for message in list(box)[:5]:
                target.add(message)
            target.flush()
            target.unlock()
            box.close()
        print(len(target))
        target.close()


if __name__ == "__main__":
    main()
