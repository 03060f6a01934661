void empty_blocks(void);
