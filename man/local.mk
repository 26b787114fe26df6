dist_man_MANS += man/btrec.1 man/btview.1
