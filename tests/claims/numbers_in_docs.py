#!/usr/bin/python3
"""Each cycle number in the prose of the pages is what its script measures (tests/doc_numbers.py), and
no page has one that no script knows.  --update rewrites those that differ.  One minute.

Tables have claims of their own: collectives_guide, gemm_table, gemm_published, published, study,
calibration_public, calibration_hardware, math_accuracy.

Short form: test_doc_numbers.py::test_quick_facts_hold, test_doc_numbers.py::test_some_slow_facts_hold.
"""
import sys

from claims import Claims, harness

import doc_numbers


def main():
    claims = Claims()
    for fact in doc_numbers.FACTS:
        numbers = fact.measure(claims.scratch)
        if "--update" in sys.argv and numbers != list(doc_numbers.stated_on_page(fact)):
            doc_numbers.update(fact, numbers)
        claims.equals(f"{fact.page}: {doc_numbers.flat(fact.text)}",
                      list(doc_numbers.stated_on_page(fact)), numbers)
    unknown = [sentence for page in doc_numbers.pages() if page not in doc_numbers.WHOLE
               for sentence in doc_numbers.unknown_numbers(
                   page, (harness.ROOT / page).read_text())]
    claims.equals("sentences with a number of cycles that no script knows", unknown, [])
    claims.finish()


main()
