\set id random(1, 20000)
UPDATE shop.orders SET status = (status + 1) % 8 WHERE id = :id;
